//! The expression parser.

use super::tokens::{Token, TokenKind, place, tokens};
use crate::{Aggregate, Error, Number, Path, Result};

/// The maximum length of an expression in bytes.
const BYTES_MAX: usize = 4096;

/// The maximum nesting depth of brackets and signs.
const DEPTH_MAX: usize = 64;

/// The maximum number of paths of one expression: the number of letters.
const PATHS_MAX: usize = 26;

/// An expression over the values at some paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub(super) paths: Vec<Path>,
    pub(super) root: Node,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(Number),
    /// The value of the path of this index.
    Path(usize),
    Negative(Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
    Aggregate(Aggregate, Vec<Node>),
    SquareRoot(Box<Node>),
}

impl Expression {
    /// Parses an expression whose names `a`, `b`, ... stand for the paths, in order.
    pub fn parse(paths: &[Path], text: &str) -> Result<Self> {
        if paths.len() > PATHS_MAX {
            let count = paths.len();
            return Err(Error::limit(format!(
                "{count} paths exceed the limit of {PATHS_MAX}"
            )));
        }
        if text.len() > BYTES_MAX {
            return Err(Error::limit(format!(
                "the expression exceeds the limit of {BYTES_MAX} bytes"
            )));
        }
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            end: text.len(),
            paths: paths.len(),
            depth: 0,
        };
        let root = parser.sum()?;
        match parser.tokens.next() {
            None => Ok(Self {
                paths: paths.to_vec(),
                root,
            }),
            Some(token) => Err(Error::syntax("an operator is missing").at(place(token.at))),
        }
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    end: usize,
    paths: usize,
    depth: usize,
}

impl Parser {
    fn sum(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::limit(format!(
                "brackets are nested deeper than {DEPTH_MAX}"
            )));
        }
        let mut left = self.product()?;
        while let Some(operator) = self.take_sign(&['+', '-']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.signed()?;
        while let Some(operator) = self.take_sign(&['*', '/']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.signed()?));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node> {
        let mut is_negative = false;
        while let Some(sign) = self.take_sign(&['+', '-']) {
            is_negative ^= sign == '-';
        }
        let atom = self.atom()?;
        Ok(if is_negative {
            Node::Negative(Box::new(atom))
        } else {
            atom
        })
    }

    fn atom(&mut self) -> Result<Node> {
        let Some(token) = self.tokens.next() else {
            return Err(Error::syntax("a value is missing").at(place(self.end)));
        };
        match token.kind {
            TokenKind::Number(number) => Ok(Node::Number(number)),
            TokenKind::Word(word) if word.len() == 1 => self.variable(&word, token.at),
            TokenKind::Word(word) => self.function(&word, token.at),
            TokenKind::Sign('(') => {
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            TokenKind::Sign(sign) => {
                Err(Error::syntax(format!("a value is missing before {sign:?}"))
                    .at(place(token.at)))
            }
        }
    }

    fn variable(&self, word: &str, at: usize) -> Result<Node> {
        let index = usize::from(word.as_bytes()[0].wrapping_sub(b'a'));
        if index < self.paths {
            return Ok(Node::Path(index));
        }
        let message = format!(
            "{word:?} is not the name of a path; {} are given",
            self.paths
        );
        Err(Error::syntax(message).at(place(at)))
    }

    fn function(&mut self, word: &str, at: usize) -> Result<Node> {
        let aggregate = match word {
            "sum" => Some(Aggregate::Sum),
            "mean" | "avg" => Some(Aggregate::Mean),
            "min" => Some(Aggregate::Min),
            "max" => Some(Aggregate::Max),
            "sqrt" => None,
            _ => {
                let message =
                    format!("{word:?} is not a function; use sum, mean, avg, min, max or sqrt");
                return Err(Error::syntax(message).at(place(at)));
            }
        };
        self.expect('(')?;
        let mut arguments = vec![self.sum()?];
        while self.take_sign(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        match aggregate {
            Some(aggregate) => Ok(Node::Aggregate(aggregate, arguments)),
            None if arguments.len() == 1 => Ok(Node::SquareRoot(Box::new(arguments.remove(0)))),
            None => Err(Error::syntax("sqrt takes one argument").at(place(at))),
        }
    }

    fn take_sign(&mut self, signs: &[char]) -> Option<char> {
        let token = self.tokens.next_if(|token| match token.kind {
            TokenKind::Sign(sign) => signs.contains(&sign),
            _ => false,
        })?;
        match token.kind {
            TokenKind::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        if self.take_sign(&[sign]).is_some() {
            return Ok(());
        }
        let at = self.tokens.peek().map_or(self.end, |token| token.at);
        Err(Error::syntax(format!("{sign:?} is missing")).at(place(at)))
    }
}
