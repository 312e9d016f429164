// Conditions and order for SQLite, which FerretDB 1.24 tells it only where a filter is one _id and nothing else.

package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/lazyerrors"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// inMax is how many _ids of a list SQLite is told; it has no place for more than 32,766 values.
const inMax = 10_000

// test is a part of a WHERE clause and its values. It lets more through than the filter it is for, which FerretDB tests
// on each document all the same, and never less, where no _id has a letter that JSON writes with a backslash.
type test struct {
	text string
	args []any
	// The column whose order is that of the _ids of all documents that the filter finds, where there is one.
	order string
}

// conditions is the test for a filter, or nothing.
func conditions(filter *types.Document, indexes []metadata.IndexInfo) test {
	found := testOf(filter, indexes)
	if found.text != "" {
		found.text = " WHERE " + found.text
	}
	return found
}

// by is the ORDER BY clause for _ids in an order, 1 or -1, or nothing where that is not asked for or not known.
func (t test) by(order int64) string {
	switch {
	case t.order == "" || order == 0:
		return ""
	case order < 0:
		return " ORDER BY " + t.order + " DESC"
	}
	return " ORDER BY " + t.order
}

// testOf is the test for what a filter says of an index of a field and then _id, of _id itself, in each of its
// alternatives, or of a field that has an index.
func testOf(filter *types.Document, indexes []metadata.IndexInfo) test {
	for _, index := range indexes {
		if len(index.Key) == 2 && index.Key[1].Field == "_id" {
			field, id := fieldTest(filter, index.Key[0].Field), idTest(filter, textID)
			if field.text != "" && id.text != "" {
				args := append(field.args, id.args...)
				return test{field.text + " AND " + id.text, args, id.order}
			}
		}
	}
	if id := idTest(filter, jsonID); id.text != "" {
		return id
	}
	if some := anyOf(filter, indexes); some.text != "" {
		return some
	}
	for _, name := range filter.Keys() {
		first := func(index metadata.IndexInfo) bool { return index.Key[0].Field == name && !index.Unique }
		if slices.ContainsFunc(indexes, first) {
			if field := fieldTest(filter, name); field.text != "" {
				return field
			}
		}
	}
	return test{}
}

// anyOf is the test that one of a filter's alternatives is met.
func anyOf(filter *types.Document, indexes []metadata.IndexInfo) test {
	alternatives, _ := filter.Get("$or")
	list, isList := alternatives.(*types.Array)
	if !isList {
		return test{}
	}
	var texts []string
	var all test
	for i := range list.Len() {
		alternative, isFilter := must.NotFail(list.Get(i)).(*types.Document)
		if !isFilter {
			return test{}
		}
		one := testOf(alternative, indexes)
		if one.text == "" {
			return test{}
		}
		if i == 0 {
			all.order = one.order
		} else if all.order != one.order {
			all.order = ""
		}
		texts, all.args = append(texts, "("+one.text+")"), append(all.args, one.args...)
	}
	all.text = "(" + strings.Join(texts, " OR ") + ")"
	return all
}

// fieldTest is the condition that a field is a string, is above or below something, or is not there. A list meets it
// where a part of it does.
func fieldTest(filter *types.Document, field string) test {
	if field == "" || strings.ContainsFunc(field, func(letter rune) bool { return letter < 'a' || letter > 'z' }) {
		return test{}
	}
	column := fmt.Sprintf("%s->>'%s'", metadata.DefaultColumn, field)
	orList := func(text string, value any) test {
		return test{text: fmt.Sprintf("(%[1]s %[2]s ? OR (%[1]s >= '[' AND %[1]s < '\\'))", column, text), args: []any{value}}
	}
	value, _ := filter.Get(field)
	switch value := value.(type) {
	case string:
		return orList("=", value)
	case *types.Document:
		if value.Len() != 1 {
			return test{}
		}
		operator := value.Keys()[0]
		bound := must.NotFail(value.Get(operator))
		switch bound.(type) {
		case bool:
			if operator == "$exists" && bound == false {
				return test{text: column + " IS NULL"}
			}
		case string, int32, int64:
			switch operator {
			case "$gt":
				// Lists are text, and text is above all numbers.
				if _, isText := bound.(string); !isText {
					return test{text: column + " > ?", args: []any{bound}}
				}
				return orList(">", bound)
			case "$gte":
				return orList(">=", bound)
			case "$lt":
				return orList("<", bound)
			case "$lte":
				return orList("<=", bound)
			}
		}
	}
	return test{}
}

// idColumn is how _id stands in a column of an index.
type idColumn struct {
	name    string
	encoded func(text string) string
	// Whether the values of the column stand in the order of the texts.
	bound func(text string, isUpper bool) (string, bool)
}

// jsonID is the unique index of _id, which has JSON, quotes included.
var jsonID = idColumn{metadata.IDColumn, encoded, func(text string, isUpper bool) (string, bool) {
	text, isCut := cut(text, isUpper)
	if isUpper && isCut {
		text += `"`
	}
	return `"` + text, isCut
}}

// textID is _id in other indexes, which have texts as they are.
var textID = idColumn{
	metadata.DefaultColumn + "->>'_id'",
	func(text string) string { return text },
	func(text string, _ bool) (string, bool) { return text, false },
}

// idTest is the condition for what a filter says of _id.
func idTest(filter *types.Document, column idColumn) test {
	switch id, _ := filter.Get("_id"); id := id.(type) {
	case string:
		return test{column.name + " = ?", []any{column.encoded(id)}, column.name}
	case *types.Document:
		return idRange(id, column)
	}
	return test{}
}

// idRange is the condition for operators on _id: bounds that are strings, and lists of them.
func idRange(operators *types.Document, column idColumn) test {
	var tests []string
	var args []any
	add := func(operator, places string, values ...any) {
		tests = append(tests, fmt.Sprintf("%s %s %s", column.name, operator, places))
		args = append(args, values...)
	}
	for _, operator := range operators.Keys() {
		value := must.NotFail(operators.Get(operator))
		text, isText := value.(string)
		list, isList := value.(*types.Array)
		switch {
		case isText && (operator == "$gt" || operator == "$gte"):
			bound, _ := column.bound(text, false)
			add(">=", "?", bound)
		case isText && (operator == "$lt" || operator == "$lte"):
			bound, isCut := column.bound(text, true)
			switch {
			case operator == "$lte" && !isCut:
				add("<=", "?", column.encoded(text))
			case isCut:
				add("<=", "?", bound)
			default:
				add("<", "?", bound)
			}
		case isList && operator == "$in":
			if values := texts(list, column.encoded); 0 < len(values) && len(values) <= inMax {
				add("IN", "(?"+strings.Repeat(", ?", len(values)-1)+")", values...)
			}
		}
	}
	if tests == nil {
		return test{}
	}
	return test{strings.Join(tests, " AND "), args, column.name}
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
func texts(list *types.Array, encoded func(string) string) []any {
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

// ordered is documents as SQLite has put them in order. JSON has another order than its texts have where one is the
// beginning of another that goes on with a letter before the quote; that is an error then and no wrong answer.
type ordered struct {
	types.DocumentsIterator
	order int64
	last  *string
}

// Next implements iterator.Interface.
func (iter *ordered) Next() (struct{}, *types.Document, error) {
	unused, doc, err := iter.DocumentsIterator.Next()
	if err != nil {
		return unused, nil, err
	}
	if id, isText := must.NotFail(doc.Get("_id")).(string); isText {
		if iter.last != nil && int64(strings.Compare(*iter.last, id)) == iter.order {
			return unused, nil, lazyerrors.Errorf("SQLite's order is not that of _ids: %q, %q", *iter.last, id)
		}
		iter.last = &id
	}
	return unused, doc, nil
}

// inOrder is documents in the order of an ORDER BY clause, or as they are where there is none.
func inOrder(iter types.DocumentsIterator, clause string, order int64) types.DocumentsIterator {
	if clause == "" {
		return iter
	}
	return &ordered{DocumentsIterator: iter, order: order}
}
