// Conditions for SQLite, which FerretDB 1.24 tells it only where a filter is one _id and nothing else.

package sqlite

import (
	"fmt"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// inMax is how many _ids of a list SQLite is told; it has no place for more than 32,766 values.
const inMax = 10_000

// conditions is the WHERE clause for what a filter says of _id beside other fields, or else of a field that is to be
// a string, and its values. It lets more through than the filter, which FerretDB tests on each document all the same,
// and never less, where no _id has a letter that JSON writes with a backslash.
func conditions(filter *types.Document) (string, []any) {
	test, args := idTest(filter)
	if test == "" {
		test, args = fieldTest(filter)
	}
	if test == "" {
		return "", nil
	}
	return " WHERE " + test, args
}

// fieldTest is the condition that the first field that is to be a string is that one, or a list, which may have it.
func fieldTest(filter *types.Document) (string, []any) {
	for _, field := range filter.Keys() {
		text, isText := must.NotFail(filter.Get(field)).(string)
		if isText && isName(field) {
			column := fmt.Sprintf("%s->'%s'", metadata.DefaultColumn, field)
			return fmt.Sprintf("(%[1]s = ? OR (%[1]s >= '[' AND %[1]s < '\\'))", column), []any{encoded(text)}
		}
	}
	return "", nil
}

// isName is whether a text is one plain name, which needs no quoting.
func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(letter rune) bool { return letter < 'a' || letter > 'z' })
}

// idTest is the condition for what a filter says of _id itself, or in each of its alternatives.
func idTest(filter *types.Document) (string, []any) {
	switch id, _ := filter.Get("_id"); id := id.(type) {
	case string:
		return metadata.IDColumn + " = ?", []any{encoded(id)}
	case *types.Document:
		return idRange(id)
	}
	alternatives, _ := filter.Get("$or")
	list, isList := alternatives.(*types.Array)
	if !isList {
		return "", nil
	}
	var tests []string
	var all []any
	for i := range list.Len() {
		alternative, isFilter := must.NotFail(list.Get(i)).(*types.Document)
		if !isFilter {
			return "", nil
		}
		test, args := idTest(alternative)
		if test == "" {
			return "", nil
		}
		tests, all = append(tests, "("+test+")"), append(all, args...)
	}
	return "(" + strings.Join(tests, " OR ") + ")", all
}

// idRange is the condition for operators on _id: bounds that are strings, and lists of them.
func idRange(operators *types.Document) (string, []any) {
	var tests []string
	var args []any
	test := func(operator, places string, values ...any) {
		tests = append(tests, fmt.Sprintf("%s %s %s", metadata.IDColumn, operator, places))
		args = append(args, values...)
	}
	for _, operator := range operators.Keys() {
		value := must.NotFail(operators.Get(operator))
		bound, isText := value.(string)
		list, isList := value.(*types.Array)
		switch {
		case isText && (operator == "$gt" || operator == "$gte"):
			text, _ := cut(bound, false)
			test(">=", "?", `"`+text)
		case isText && (operator == "$lt" || operator == "$lte"):
			if text, isCut := cut(bound, true); isCut || operator == "$lte" {
				test("<=", "?", `"`+text+`"`)
			} else {
				test("<", "?", `"`+text)
			}
		case isList && operator == "$in":
			if values := texts(list); 0 < len(values) && len(values) <= inMax {
				test("IN", "(?"+strings.Repeat(", ?", len(values)-1)+")", values...)
			}
		}
	}
	return strings.Join(tests, " AND "), args
}

// cut is a text up to the first letter that JSON writes in another way; for an upper bound, also up to the first one
// that is not after the quote that ends a text in JSON.
func cut(text string, isUpper bool) (string, bool) {
	isOther := func(letter rune) bool {
		return letter < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029\ufffd", letter) || isUpper && letter < '"'
	}
	if at := strings.IndexFunc(text, isOther); at >= 0 {
		return text[:at], true
	}
	return text, false
}

// texts is a list of strings as they are stored, or nothing where it holds anything else.
func texts(list *types.Array) []any {
	values := make([]any, list.Len())
	for i := range values {
		text, isText := must.NotFail(list.Get(i)).(string)
		if !isText {
			return nil
		}
		values[i] = encoded(text)
	}
	return values
}

func encoded(text string) string {
	return string(must.NotFail(sjson.MarshalSingleValue(text)))
}
