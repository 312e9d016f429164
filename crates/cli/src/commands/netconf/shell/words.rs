//! The words of a line.

/// Why a line has no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongLine {
    /// A quotation mark without a second one.
    OpenQuote(char),
    /// A backslash at the end.
    Backslash,
}

impl std::fmt::Display for WrongLine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OpenQuote(quote) => write!(out, "the quotation mark {quote} is not closed"),
            Self::Backslash => out.write_str("there is nothing after the backslash"),
        }
    }
}

/// Splits a line at white space, as a shell does: '…' is literal, "…" has \" and \\, a backslash outside takes the next
/// character literally, and # at the begin of a word begins a comment.
///
/// # Errors
/// A quotation mark is not closed, or the line ends with a backslash.
pub fn split(line: &str) -> Result<Vec<String>, WrongLine> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if word.is_none() => break,
            '\'' | '"' => quoted(letter, &mut letters, word.get_or_insert_default())?,
            '\\' => {
                let next = letters.next().ok_or(WrongLine::Backslash)?;
                word.get_or_insert_default().push(next);
            }
            letter if letter.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(
    quote: char,
    letters: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), WrongLine> {
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == quote => return Ok(()),
            '\\' if quote == '"' => match letters.next() {
                Some(escaped @ ('"' | '\\')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            letter => word.push(letter),
        }
    }
    Err(WrongLine::OpenQuote(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_words_as_in_a_shell() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("  # comment", &[]),
            ("get # comment", &["get"]),
            ("a#b", &["a#b"]),
            (
                "get --xpath '/a[b=\"c d\"]'",
                &["get", "--xpath", "/a[b=\"c d\"]"],
            ),
            (r#"a"b \"c\" \d"'e'"#, &[r#"ab "c" \de"#]),
            (r"a\ b ''", &["a b", ""]),
            ("<a b='1'/>", &["<a", "b=1/>"]),
        ];
        for (line, expected) in cases {
            assert_eq!(split(line).expect(line), expected, "{line}");
        }
        assert_eq!(split("a 'b"), Err(WrongLine::OpenQuote('\'')));
        assert_eq!(split("a \"b\\"), Err(WrongLine::OpenQuote('"')));
        assert_eq!(split("a\\"), Err(WrongLine::Backslash));
    }
}
