package http_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

// putCategory names a category. id is the last segment of the path.
func putCategory(id any, body string, header ...string) request {
	return request{method: http.MethodPut, path: fmt.Sprintf("/v1/categories/%v", id), header: header, body: body}
}

func deleteCategory(id any) request {
	return newRequest(http.MethodDelete, fmt.Sprintf("/v1/categories/%v", id))
}

var noContent = wantResponse{status: http.StatusNoContent}

// categoryOf returns the JSON of a category. members are its id and perhaps its name, n is the number of its animals, which have
// no status.
func categoryOf(members string, n int) string {
	return fmt.Sprintf(`{%s,"available":0,"pending":0,"sold":0,"none":%d,"total":%[2]d}`, members, n)
}

func TestCategoriesAreNamedAndListed(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/categories"), ok(`[]`).withHeader("-Link")))
	dogs, cats := `"id":-9223372036854775808,"name":"Dogs"`, `"id":0,"name":" <Cats> 'Ä' "`
	s.expect(t, putCategory(math.MinInt64, `{"name":"Dogs"}`), ok(categoryOf(dogs, 0)))
	s.createPets(t, domain.NewPet{Name: "Rex", CategoryID: math.MinInt64}, domain.NewPet{Name: "Tom", CategoryID: math.MaxInt64})
	for range 2 { // the second request changes nothing
		s.expect(t, putCategory("0", `{"name":" <Cats> 'Ä' ","color":"red"}`), ok(categoryOf(cats, 0)))
	}
	s.expect(t, putCategory(math.MinInt64, `{"name":"Dogs"}`), ok(categoryOf(dogs, 1)))
	unnamed := categoryOf(`"id":9223372036854775807`, 1)
	all := s.expect(t, get("/v1/categories"), ok(fmt.Sprintf("[%s,%s,%s]", categoryOf(dogs, 1), categoryOf(cats, 0), unnamed)).withHeader("-Link"))
	testkit.Equal(t, "the position", begin+4, positionOf(t, all))
	s.expect(t, get("/v1/categories", "If-None-Match: "+all.Header.Get("ETag")), wantResponse{status: http.StatusNotModified})

	var walked []string
	for path := "/v1/categories?limit=1"; path != ""; {
		page := s.expect(t, get(path), ok(""))
		walked = append(walked, strings.Trim(string(page.body), "[]"))
		path = page.link(t, "next")
	}
	testkit.Equal(t, "the pages", []string{categoryOf(dogs, 1), categoryOf(cats, 0), unnamed}, walked)
	second := ok("[" + categoryOf(cats, 0) + "]").withHeader(`Link: <?limit=1&after=0>; rel="next"`)
	s.expect(t, get("/v1/categories?after=-9223372036854775808&limit=1"), second)
	s.expect(t, get("/v1/categories?after=0"), ok("["+unnamed+"]"))
	s.expect(t, get("/v1/categories?after=9223372036854775807"), ok("[]"))
	for query, message := range map[string]string{
		"limit=0": "limit must be at least 1", "limit=101": "limit must be at most 100", "after=x": "after must be a 64-bit integer",
		"after=": "after must not be empty", "sort=id": `"sort" is not a parameter`, "status=sold": `"status" is not a parameter`,
	} {
		s.expect(t, get("/v1/categories?"+query), rejected(400, "invalid_parameter", message))
	}

	s.expect(t, deleteCategory(math.MinInt64), noContent)
	for _, id := range []any{math.MinInt64, math.MaxInt64, 4711} { // without a name, with or without animals
		s.expect(t, deleteCategory(id), rejected(404, "category_not_found", fmt.Sprintf("the category with the id %d has no name", id)))
	}
	s.expect(t, deleteCategory("0"), noContent)
	s.expect(t, get("/v1/categories"), ok(fmt.Sprintf("[%s,%s]", categoryOf(`"id":-9223372036854775808`, 1), unnamed)))
	changes := s.expect(t, get(fmt.Sprintf("/v1/changes?after=%d", begin)), ok(""))
	want := []string{
		changeOf(begin+1, "category.named", `"category":{`+dogs+`}`),
		changeOf(begin+2, "pet.added", `"pet":{"id":1,"name":"Rex","categoryId":-9223372036854775808}`),
		changeOf(begin+3, "pet.added", `"pet":{"id":2,"name":"Tom","categoryId":9223372036854775807}`),
		changeOf(begin+4, "category.named", `"category":{`+cats+`}`),
		changeOf(begin+5, "category.removed", `"category":{`+dogs+`}`),
		changeOf(begin+6, "category.removed", `"category":{`+cats+`}`),
	}
	testkit.Equal(t, "the changes", "["+strings.Join(want, ",")+"]", changeTime.ReplaceAllString(string(changes.body), `"at":"TIME"`))
}

func TestInvalidNameOfACategoryIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for body, want := range map[string]wantResponse{
		`{}`:              rejected(400, "validation_failed", "name is required"),
		`{"name":null}`:   rejected(400, "validation_failed", "name"),
		`{"name":7}`:      rejected(400, "validation_failed", "name must be a string"),
		`{"name":" "}`:    rejected(400, "validation_failed", "name must be 1 to 200 characters"),
		`{"Name":"Dogs"}`: rejected(400, "validation_failed", "must be spelt name"),
		`{"name":"Dogs"`:  rejected(400, "invalid_json"),
		`["Dogs"]`:        rejected(400, "invalid_json"),
		`{"name":"` + strings.Repeat("x", 201) + `"}`: rejected(400, "validation_failed", "name must be 1 to 200 characters"),
	} {
		s.expect(t, putCategory(7, body), want)
	}
	s.expect(t, putCategory(7, `{"name":"Dogs"}`, "Content-Type: text/plain"), rejected(415, "unsupported_media_type").withHeader("-Accept-Patch"))
	s.expect(t, putCategory("7?limit=1", `{"name":"Dogs"}`), rejected(400, "invalid_parameter", `"limit" is not a parameter`))
	s.expect(t, deleteCategory("7?limit=1"), rejected(400, "invalid_parameter", `"limit" is not a parameter`))
	for _, id := range []string{"x", "+7", "9223372036854775808", "7.0"} {
		s.expect(t, putCategory(id, `{"name":"Dogs"}`), rejected(404, "category_not_found", "there is no category with this id"))
		s.expect(t, deleteCategory(id), rejected(404, "category_not_found", "there is no category with this id"))
	}
	s.expect(t, get("/v1/categories"), ok(`[]`))
}

// The first page of the categories begins before the id 0. Each name, animal and order changes pages of categories.
func TestPagesOfCategoriesAreFresh(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers)
	for n := range 3 {
		s.createPets(t, domain.NewPet{Name: "Rex", CategoryID: -7}, domain.NewPet{Name: "Tom", CategoryID: 7})
		for range 2 { // read, and from memory
			s.expect(t, get("/v1/categories?limit=20&after=0"), ok("["+categoryOf(`"id":7`, n+1)+"]"))
			s.expect(t, get("/v1/categories"), ok(fmt.Sprintf("[%s,%s]", categoryOf(`"id":-7`, n+1), categoryOf(`"id":7`, n+1))))
			s.expect(t, get("/v1/categories?limit=1"), ok("["+categoryOf(`"id":-7`, n+1)+"]"))
		}
	}
	testkit.Equal(t, "reads", "9", s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`])
	s.expect(t, putCategory(-7, `{"name":"Dogs"}`), ok(""))
	s.expect(t, get("/v1/categories?limit=1"), ok("["+categoryOf(`"id":-7,"name":"Dogs"`, 3)+"]"))
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, get("/v1/categories?limit=1"), ok(`[{"id":-7,"name":"Dogs","available":0,"pending":1,"sold":0,"none":2,"total":3}]`))
}

// Clients name a category, rename it, remove its name, and add animals. Each page has exactly the changes up to its position:
// the last name, and all animals that were added.
func TestCategoryHasExactlyTheChangesUpToItsPosition(t *testing.T) {
	t.Parallel()
	const each = 20
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/categories"), ok(`[]`)))
	var writing sync.WaitGroup
	write := func(requests ...request) {
		writing.Go(func() {
			for i := range each * len(requests) {
				res, err := s.send(t.Context(), requests[i%len(requests)])
				if err != nil || res.StatusCode >= 300 && res.StatusCode != http.StatusNotFound {
					t.Errorf("got %v and %v", res, err)
				}
			}
		})
	}
	write(postPet(`{"name":"Rex","categoryId":7}`))
	write(putCategory(7, `{"name":"Dogs"}`))
	write(putCategory(7, `{"name":"Cats"}`), deleteCategory(7))
	pages := map[int64]string{}
	for range 2 * each {
		page := s.expect(t, get("/v1/categories"), ok(""))
		pages[positionOf(t, page)] = string(page.body)
	}
	writing.Wait()
	last := s.expect(t, get("/v1/categories"), ok(""))
	pages[positionOf(t, last)] = string(last.body)

	name, animals, want := "", 0, map[int64]string{begin: `[]`}
	for page := (domain.ChangePage{Page: domain.Page[domain.RecordedChange]{Next: begin, More: true}}); page.More; {
		var err error
		page, err = s.changes.List(t.Context(), domain.PageRequest{After: page.Next, Limit: 100})
		check(t, err)
		for _, recorded := range page.Items {
			change, err := recorded.Decode()
			check(t, err)
			switch change.Type { //nolint:exhaustive // the others are not made
			case domain.ChangePetAdded:
				animals++
			case domain.ChangeCategoryNamed:
				testkit.Equal(t, "whether a name differs from the one before", true, name != change.Category.Name)
				name = change.Category.Name
			case domain.ChangeCategoryRemoved:
				testkit.Equal(t, "the removed name", name, change.Category.Name)
				name = ""
			default:
				t.Errorf("got the change %s", change.Type)
			}
			members := `"id":7`
			if name != "" {
				members += fmt.Sprintf(`,"name":%q`, name)
			}
			want[change.Seq] = "[" + categoryOf(members, animals) + "]"
			if name == "" && animals == 0 {
				want[change.Seq] = `[]`
			}
		}
	}
	for position, body := range pages {
		testkit.Equal(t, fmt.Sprintf("the page with the position %d", position), want[position], body)
	}
	testkit.Equal(t, "the number of animals", each, animals)
}
