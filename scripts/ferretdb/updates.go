// Updates one at a time, each in one transaction of SQLite, and deletes of any size. FerretDB 1.24 has a transaction for
// each document, and between reading a document and writing it another update may come; of more than 32,766 documents that
// are to be deleted at once it deletes none.

package handler

import (
	"context"
	"sync"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/handler/common"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/lazyerrors"
)

// deletedMax is how many documents one statement deletes.
const deletedMax = 10_000

// updating is held by the update that is under way.
var updating sync.Mutex

// gathering is a collection that keeps what is to be written.
type gathering struct {
	backends.Collection
	docs []*types.Document
}

// UpdateAll implements backends.Collection interface.
func (g *gathering) UpdateAll(_ context.Context, params *backends.UpdateAllParams) (*backends.UpdateAllResult, error) {
	g.docs = append(g.docs, params.Docs...)
	return &backends.UpdateAllResult{Updated: int32(len(params.Docs))}, nil
}

// updateTogether does what an update says to all documents, and writes them in one transaction.
func updateTogether(ctx context.Context, c backends.Collection, iter types.DocumentsIterator, u *common.Update) (*common.UpdateResult, error) { //nolint:lll // for readability
	gathered := &gathering{Collection: c}
	result, err := common.UpdateDocument(ctx, gathered, "update", iter, u)
	iter.Close()
	if len(gathered.docs) == 0 {
		return result, err
	}
	if _, failed := c.UpdateAll(ctx, &backends.UpdateAllParams{Docs: gathered.docs}); failed != nil {
		return nil, lazyerrors.Error(failed)
	}
	return result, err
}

// deleteTogether deletes documents.
func deleteTogether(ctx context.Context, c backends.Collection, ids []any) (*backends.DeleteAllResult, error) {
	var all backends.DeleteAllResult
	for len(ids) > 0 {
		some := ids[:min(deletedMax, len(ids))]
		ids = ids[len(some):]
		deleted, err := c.DeleteAll(ctx, &backends.DeleteAllParams{IDs: some})
		if err != nil {
			return nil, err
		}
		all.Deleted += deleted.Deleted
	}
	return &all, nil
}
