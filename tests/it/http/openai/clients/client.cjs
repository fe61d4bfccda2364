// What the stock Node client makes of the door, as one object of JSON. The same steps stand in client.py.

const { OpenAI, APIError } = require("openai");

const { DOOR, KEY } = process.env;
const QUESTION = "How long is the warranty?";
const client = new OpenAI({ baseURL: DOOR, apiKey: KEY, maxRetries: 0 });

const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
const files = (citations) => citations.map((citation) => citation.filename);

async function whole(messages) {
  const answer = await client.chat.completions.create({ model: "askback", messages });
  const [choice] = answer.choices;
  return {
    text: choice.message.content,
    role: choice.message.role,
    finish_reason: choice.finish_reason,
    tokens: answer.usage.total_tokens,
    session: answer.askback.session_id,
    asks: answer.askback.hitl !== null,
    cites: files(answer.askback.citations),
  };
}

async function streamed(messages) {
  const told = { text: "", roles: [], finish_reasons: [], tokens: null };
  const options = { model: "askback", messages, stream: true, stream_options: { include_usage: true } };
  for await (const chunk of await client.chat.completions.create(options)) {
    if (chunk.usage) told.tokens = chunk.usage.total_tokens;
    for (const choice of chunk.choices) {
      told.text += choice.delta.content ?? "";
      if (choice.delta.role) told.roles.push(choice.delta.role);
      if (choice.finish_reason) {
        told.finish_reasons.push(choice.finish_reason);
        told.session = chunk.askback.session_id;
        told.asks = chunk.askback.hitl !== null;
        told.cites = files(chunk.askback.citations);
      }
    }
  }
  return told;
}

async function refused(call) {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return { status: error.status, type: error.type, code: error.code };
  }
  return null;
}

async function broken(messages) {
  let text = "";
  try {
    for await (const chunk of await client.chat.completions.create({ model: "askback", messages, stream: true })) {
      for (const choice of chunk.choices) text += choice.delta.content ?? "";
    }
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return { text, type: error.type, has_code: Boolean(error.code) };
  }
  return null;
}

async function main() {
  const report = { models: [] };
  for await (const model of client.models.list()) report.models.push(model.id);
  report.plain = await whole([user("Hello?")]);
  report["plain again"] = await whole([user("Hello?"), assistant(report.plain.text), user("And again?")]);
  report["plain stream"] = await streamed([user("Hello?")]);
  for (const [name, ask] of [["question", whole], ["question stream", streamed]]) {
    report[name] = await ask([user(QUESTION)]);
    report[`${name} answered`] = await ask([user(QUESTION), assistant(report[name].text), user("2")]);
  }
  report.refused = await refused(() => whole([user("Hello?")]));
  report["refused stream"] = await refused(() => streamed([user("Hello?")]));
  report.broken = await broken([user("Hello?")]);
  report["wrong body"] = await refused(() => whole([assistant("Hello.")]));
  const stranger = new OpenAI({ baseURL: DOOR, apiKey: "ask-nobody", maxRetries: 0 });
  report.stranger = await refused(() => stranger.models.list());
  console.log(JSON.stringify(report));
}

main();
