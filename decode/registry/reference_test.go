package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
)

// referred is the references of schema 1 as name=subject@version:text.
func referred(t *testing.T, f *fake) ([]string, error) {
	t.Helper()
	s, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(1))
	if err != nil {
		return nil, err
	}
	var got []string
	for _, r := range s.References {
		got = append(got, fmt.Sprintf("%s=%s@%d:%s", r.Name, r.Subject, r.Version, r.Text))
	}
	return got, nil
}

func TestReferencesComeEachAfterWhatItNeeds(t *testing.T) {
	f := newFake(t)
	f.add(1, "order-value", 1, Protobuf, "order", "customer.proto=customer@2", "money.proto=money@1")
	f.add(2, "customer", 2, Protobuf, "customer", "address.proto=address@1", "money.proto=money@1")
	f.add(3, "money", 1, Protobuf, "money", "currency.proto=a/b currency@5")
	f.add(4, "address", 1, Protobuf, "address")
	f.add(5, "a/b currency", 5, Protobuf, "currency")
	got, err := referred(t, f)
	want := []string{"address.proto=address@1:address", "currency.proto=a/b currency@5:currency", "money.proto=money@1:money", "customer.proto=customer@2:customer"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if f.count() != 5 {
		t.Errorf("got %d requests, want 5", f.count())
	}
}

func TestReferencesAreReadOnceForAllSchemas(t *testing.T) {
	f := newFake(t)
	f.add(1, "order-value", 1, Avro, "v1", "Money=money@1")
	f.add(2, "order-value", 2, Avro, "v2", "Money=money@1")
	f.add(3, "money", 1, Avro, money)
	c := network{"r:8081": f}.client(t, at("http://r:8081"))
	for _, id := range []int32{1, 2} {
		if s, err := c.Schema(t.Context(), Number(id)); err != nil || len(s.References) != 1 || s.References[0].Text != money {
			t.Errorf("got %+v, %v", s, err)
		}
	}
	if f.count() != 3 {
		t.Errorf("got %d requests, want 3", f.count())
	}
}

func TestTheFirstSchemaOfANameCounts(t *testing.T) {
	f := newFake(t)
	f.add(1, "order-value", 1, Avro, "order", "shop.Cart=cart@1", "shop.Money=money@2")
	f.add(2, "cart", 1, Avro, "cart", "shop.Money=money@1")
	f.add(3, "money", 1, Avro, "money 1")
	f.add(4, "money", 2, Avro, "money 2")
	got, err := referred(t, f)
	if want := []string{"shop.Money=money@1:money 1", "shop.Cart=cart@1:cart"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestAReferenceToTheLatestVersionSaysWhichThatWas(t *testing.T) {
	f := newFake(t)
	f.add(1, "order-value", 1, Avro, "order", "shop.Money=money@-1")
	f.add(3, "money", 6, Avro, money)
	got, err := referred(t, f)
	if want := []string{"shop.Money=money@6:" + money}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestReferencesStayInTheirContext(t *testing.T) {
	f := newFake(t)
	f.add(1, ":.shop:order-value", 1, Avro, "order", "Cart=cart@1", "Other=:.other:money@1")
	f.add(2, ":.shop:cart", 1, Avro, "cart", "Money=money@1")
	f.add(3, ":.shop:money", 1, Avro, "money")
	f.add(4, ":.other:money", 1, Avro, "other money")
	s, err := network{"r:8081": f}.client(t, at("http://r:8081")).Latest(t.Context(), ":.shop:order-value")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.References {
		got = append(got, r.Subject)
	}
	if want := []string{":.shop:money", ":.shop:cart", ":.other:money"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range [][3]string{{"order", "money", "money"}, {":.shop", "money", "money"}, {":.:order", "money", ":.:money"}} {
		if got := within(c[0], c[1]); got != c[2] {
			t.Errorf("got %s, want %s", got, c[2])
		}
	}
}

func TestReferencesThatCannotBeFollowedAreRefused(t *testing.T) {
	chain := func(f *fake, length int) {
		f.add(1, "order-value", 1, Avro, "order", "n0=s0@1")
		for i := range length {
			f.add(i+2, fmt.Sprintf("s%d", i), 1, Avro, "text", fmt.Sprintf("n%d=s%d@1", i+1, i+1))
		}
		f.add(length+2, fmt.Sprintf("s%d", length), 1, Avro, "text")
	}
	for name, c := range map[string]struct {
		schemas func(f *fake)
		want    string
	}{
		"circle": {func(f *fake) {
			f.add(1, "a-value", 1, Avro, "a", "B=b@1")
			f.add(2, "b", 1, Avro, "b", "C=c@1")
			f.add(3, "c", 1, Avro, "c", "B=b@1")
		}, `go round in a circle: "B" (subject "b", version 1) -> "C" (subject "c", version 1) -> "B" (subject "b", version 1)`},
		"itself":  {func(f *fake) { f.add(1, "a-value", 1, Avro, "a", "A=a-value@1") }, "go round in a circle"},
		"deep":    {func(f *fake) { chain(f, 50) }, "lead more than 50 levels down"},
		"no name": {func(f *fake) { f.add(1, "a-value", 1, Avro, "a", "=b@1") }, "a reference has no name or no subject"},
		"missing": {func(f *fake) { f.add(1, "a-value", 1, Avro, "a", "B=b@3") }, `read what schema 1 refers to: ask the schema registry for reference "B" (subject "b", version 3)`},
		"many": {func(f *fake) {
			var references []string
			for i := range maxReferences + 1 {
				references = append(references, fmt.Sprintf("N%d=b@1", i))
			}
			f.add(1, "a-value", 1, Avro, "a", references...)
			f.add(2, "b", 1, Avro, "b")
		}, "more than 1000 references"},
		"long name":    {func(f *fake) { f.add(1, "a-value", 1, Avro, "a", strings.Repeat("N", 1001)+"=b@1") }, "of more than 1000 bytes: …"},
		"long subject": {func(f *fake) { f.add(1, "a-value", 1, Avro, "a", "N="+strings.Repeat("b", 1001)+"@1") }, "of more than 1000 bytes: …"},
		"another version": {func(f *fake) {
			f.add(1, "a-value", 1, Avro, "a", "B=b@1")
			f.put("/subjects/b/versions/1?deleted=true", map[string]any{"schema": "b", "version": 2})
		}, "http://r:8081 answers with version 2 instead"},
		"large": {func(f *fake) {
			f.add(1, "a-value", 1, Avro, strings.Repeat("a", 3<<20), "B=b@1")
			f.add(2, "b", 1, Avro, strings.Repeat("b", 3<<20))
		}, "has more than 4194304 bytes with its references"},
	} {
		f := newFake(t)
		c.schemas(f)
		_, err := referred(t, f)
		if err == nil {
			t.Fatalf("%s: got no error", name)
		}
		wantFault(t, err, batch.NotSetUp, c.want)
		if f.count() > 60 {
			t.Errorf("%s: got %d requests", name, f.count())
		}
	}
	f := newFake(t)
	chain(f, 49)
	if got, err := referred(t, f); err != nil || len(got) != 50 || !strings.HasPrefix(got[0], "n49=") {
		t.Errorf("got %d references, %v", len(got), err)
	}
}
