"""What the stock Python client makes of the door, as one object of JSON. The same steps stand in client.cjs."""

import json
import os

import openai

DOOR = os.environ["DOOR"]
QUESTION = "How long is the warranty?"
client = openai.OpenAI(base_url=DOOR, api_key=os.environ["KEY"], max_retries=0)


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def whole(messages):
    answer = client.chat.completions.create(model="askback", messages=messages)
    choice = answer.choices[0]
    return {
        "text": choice.message.content,
        "role": choice.message.role,
        "finish_reason": choice.finish_reason,
        "tokens": answer.usage.total_tokens,
        "session": answer.askback["session_id"],
        "asks": answer.askback["hitl"] is not None,
        "cites": [citation["filename"] for citation in answer.askback["citations"]],
    }


def streamed(messages):
    told = {"text": "", "roles": [], "finish_reasons": [], "tokens": None}
    chunks = client.chat.completions.create(
        model="askback", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    for chunk in chunks:
        if chunk.usage:
            told["tokens"] = chunk.usage.total_tokens
        for choice in chunk.choices:
            told["text"] += choice.delta.content or ""
            if choice.delta.role:
                told["roles"].append(choice.delta.role)
            if choice.finish_reason:
                told["finish_reasons"].append(choice.finish_reason)
                told["session"] = chunk.askback["session_id"]
                told["asks"] = chunk.askback["hitl"] is not None
                told["cites"] = [citation["filename"] for citation in chunk.askback["citations"]]
    return told


def refused(call):
    try:
        call()
    except openai.APIStatusError as error:
        return {"status": error.status_code, "type": error.type, "code": error.code}
    return None


def broken(messages):
    text = ""
    try:
        for chunk in client.chat.completions.create(model="askback", messages=messages, stream=True):
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
    except openai.APIError as error:
        return {"text": text, "type": error.type, "has_code": bool(error.code)}
    return None


report = {"models": [model.id for model in client.models.list()]}
report["plain"] = whole([user("Hello?")])
report["plain again"] = whole([user("Hello?"), assistant(report["plain"]["text"]), user("And again?")])
report["plain stream"] = streamed([user("Hello?")])
for name, ask in [("question", whole), ("question stream", streamed)]:
    report[name] = ask([user(QUESTION)])
    report[name + " answered"] = ask([user(QUESTION), assistant(report[name]["text"]), user("2")])
report["refused"] = refused(lambda: whole([user("Hello?")]))
report["refused stream"] = refused(lambda: streamed([user("Hello?")]))
report["broken"] = broken([user("Hello?")])
report["wrong body"] = refused(lambda: whole([assistant("Hello.")]))
stranger = openai.OpenAI(base_url=DOOR, api_key="ask-nobody", max_retries=0)
report["stranger"] = refused(lambda: stranger.models.list())
print(json.dumps(report))
