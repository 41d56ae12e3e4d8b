package spelling

import (
	"reflect"
	"strings"
	"testing"
)

func TestTheNearestNamesComeFirst(t *testing.T) {
	names := []string{"orders", "order_items", "ORDERS.items", "customers", "a", "orders-v2", ""}
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"oders", 1, []string{"orders"}},
		{"Order.Items", 1, []string{"order_items", "ORDERS.items"}},
		{"orders-itmes", 2, []string{"ORDERS.items", "order_items"}},
		{"orders_v1", 1, []string{"orders-v2"}},
		{"orders_v1", 3, []string{"orders-v2", "orders"}},
		{"b", 2, nil}, // nothing of it is right
		{"", 5, nil},
		{strings.Repeat("orders", 1e5), 10, nil},
	} {
		if got := Nearest(c.name, names, c.most); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%.20q, %d edits: got %q, want %q", c.name, c.most, got, c.want)
		}
		best := ""
		if len(c.want) > 0 {
			best = c.want[0]
		}
		if got := Best(c.name, names, c.most); got != best {
			t.Errorf("%.20q, %d edits: got %q, want %q", c.name, c.most, got, best)
		}
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"name", "nmae", 1}, {"table", "tabel", 1}, {"kitten", "sitting", 3}, {"retain", "retain", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
