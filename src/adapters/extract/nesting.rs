//! Parsing HTML that nests without end. What a tag costs the parser grows with the elements that are open, so beyond a
//! depth that no page needs, tags are passed over and what stands in them belongs to the element around. Browsers do
//! much the same.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use html5ever::{
    LocalName, TokenizerResult,
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, EndTag, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
    },
    tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink as _},
};
use markup5ever_rcdom::{Handle, RcDom};

/// Most elements that are open at a time, those that format among them.
const DEEPEST: usize = 256;

/// Elements whose text the tokenizer reads in another way, and those that hold nothing: passed over they would do harm,
/// and they do not nest.
const KEPT: &[&str] = &[
    "script",
    "style",
    "title",
    "textarea",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "param",
    "source",
    "track",
    "wbr",
];

/// The document of `source`, however it nests.
pub(super) fn parse(source: &str) -> RcDom {
    let builder = TreeBuilder::new(RcDom::default(), TreeBuilderOpts::default());
    let tokenizer = Tokenizer::new(Shallow { builder, passed_over: RefCell::default() }, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(source));
    // It stops behind scripts and where an encoding is named; neither is of interest.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.builder.sink.finish()
}

/// Between tokenizer and tree.
struct Shallow {
    builder: TreeBuilder<Handle, RcDom>,
    /// Start tags that were passed over and whose end tags are still to come, by name.
    passed_over: RefCell<HashMap<LocalName, usize>>,
}

impl Shallow {
    fn is_passed_over(&self, tag: &Tag) -> bool {
        let mut passed_over = self.passed_over.borrow_mut();
        match tag.kind {
            StartTag => {
                let is_too_deep = self.open() >= DEEPEST && !KEPT.contains(&&*tag.name);
                if is_too_deep && !tag.self_closing {
                    *passed_over.entry(tag.name.clone()).or_default() += 1;
                }
                is_too_deep
            }
            EndTag => match passed_over.get_mut(&tag.name) {
                Some(open) if *open > 0 => {
                    *open -= 1;
                    true
                }
                _ => false,
            },
        }
    }

    /// How many elements the tree keeps at hand.
    fn open(&self) -> usize {
        let count = Count::default();
        self.builder.trace_handles(&count);
        count.0.get()
    }
}

impl TokenSink for Shallow {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        match &token {
            TagToken(tag) if self.is_passed_over(tag) => TokenSinkResult::Continue,
            _ => self.builder.process_token(token, line),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

#[derive(Default)]
struct Count(Cell<usize>);

impl Tracer for Count {
    type Handle = Rc<markup5ever_rcdom::Node>;

    fn trace_handle(&self, _: &Self::Handle) {
        self.0.set(self.0.get() + 1);
    }
}
