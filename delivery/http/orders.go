package http

import (
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

type order struct {
	// Unique identifier, assigned by the service.
	ID int64 `json:"id" validate:"required" format:"int64" example:"1001"`
	// The animal that is sold.
	PetID int64 `json:"petId" validate:"required" format:"int64" example:"42"`
	// Where the order stands.
	Status domain.OrderStatus `json:"status" validate:"required" enums:"placed,delivered,cancelled" example:"placed"`
	// When it was placed, in UTC.
	CreatedAt string `json:"createdAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
	// When its status changed last, in UTC.
	UpdatedAt string `json:"updatedAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
} // @name Order

func orderOf(o domain.Order) order {
	return order{ID: o.ID, PetID: o.PetID, Status: o.Status, CreatedAt: timestamp(o.CreatedAt), UpdatedAt: timestamp(o.UpdatedAt)}
}

// timestamp is a time in RFC 3339, UTC, with milliseconds.
func timestamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

type listOrdersQuery struct {
	pageQuery
}

// listOrders answers a page of the orders.
//
//	@Summary		List orders
//	@Description	The orders in the order in which they were placed. While there are more, the header Link leads to the next page.
//	@ID				listOrders
//	@Tags			Store
//	@Param			query	query		listOrdersQuery	false	"page"
//	@Success		200		{array}		order			"A page of orders"
//	@Header			200		{string}	Link			"The next page: <?limit=…&after=…>; rel=next (RFC 8288)"
//	@Router			/store/orders [get]
func (a *API) listOrders(c *gin.Context) error {
	query, err := bindQuery[listOrdersQuery](c)
	if err != nil {
		return err
	}
	page, err := a.orders.List(c.Request.Context(), domain.OrderQuery{PageRequest: query.request()})
	if err != nil {
		return err
	}
	if page.More {
		linkNext(c, query.pageQuery, page.Items[len(page.Items)-1].ID)
	}
	return writePage(c, page, orderOf)
}
