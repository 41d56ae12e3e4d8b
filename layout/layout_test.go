package layout

import (
	"strings"
	"testing"
)

func TestTermsAreReadAsSparkWritesThem(t *testing.T) {
	for text, want := range map[string]Term{
		"city":                        {Identity, 0, "city"},
		" city ":                      {Identity, 0, "city"},
		"address.city":                {Identity, 0, "address.city"},
		"days":                        {Identity, 0, "days"},
		"identity(city)":              {Identity, 0, "city"},
		"void(city)":                  {Void, 0, "city"},
		"days(event_time)":            {Day, 0, "event_time"},
		"day( ts )":                   {Day, 0, "ts"}, // https://github.com/databricks/iceberg-kafka-connect/issues/220
		"date(ts)":                    {Day, 0, "ts"},
		"YEARS(ts)":                   {Year, 0, "ts"},
		"year(ts)":                    {Year, 0, "ts"},
		"months(ts)":                  {Month, 0, "ts"},
		"month(ts)":                   {Month, 0, "ts"},
		"hours(ts)":                   {Hour, 0, "ts"},
		"hour(ts)":                    {Hour, 0, "ts"},
		"date_hour(ts)":               {Hour, 0, "ts"},
		"bucket(16, customer_id)":     {Bucket, 16, "customer_id"},
		"bucket(id,16)":               {Bucket, 16, "id"},
		"truncate(a.b, 4)":            {Truncate, 4, "a.b"},
		"truncate(4, a . b)":          {Truncate, 4, "a.b"},
		"`order id`":                  {Identity, 0, "order id"},
		"bucket(8, `a``b`.`c(d)`)":    {Bucket, 8, "a`b.c(d)"},
		"@timestamp":                  {Identity, 0, "@timestamp"},
		"user-id":                     {Identity, 0, "user-id"},
		"straße":                      {Identity, 0, "straße"},
		"2024":                        {Identity, 0, "2024"},
		"bucket(2147483647, `16`)":    {Bucket, 2147483647, "16"},
		"truncate(10, \tcustomer_id)": {Truncate, 10, "customer_id"},
	} {
		got, err := ParseTerm(text)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
			continue
		}
		if again, err := ParseTerm(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %v, %v", text, got.String(), again, err)
		}
	}
}

func TestTermsThatAreNoneSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "character 1",
		"day ts":                "has ts at character 5", // https://github.com/databricks/iceberg-kafka-connect/issues/220
		"days(ts":               "ends at character 8, where a closing parenthesis",
		"days()":                "has ) at character 6, where a column",
		"dayz(ts)":              "has dayz at character 1",
		"bucket(ts)":            "where a comma and a number",
		"bucket(0, ts)":         "has 0 at character 8",
		"bucket(-1, ts)":        "where a number",
		"bucket(2147483648, a)": "a number from 1 to 2147483647",
		"bucket(16 ts)":         "has ts at character 11, where a comma",
		"a..b":                  "has . at character 3",
		"a.":                    "ends at character 3",
		"`a":                    "between backticks",
		"``":                    "between backticks",
		"a, b":                  "has , at character 2, where nothing more",
		"days(ts) DESC":         "has DESC at character 10",
	} {
		if got, err := ParseTerm(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestOrdersAreReadAsSparkWritesThem(t *testing.T) {
	id := Term{Identity, 0, "id"}
	for text, want := range map[string]Order{
		"id":                  {id, false, false},
		"id ASC":              {id, false, false},
		"id desc":             {id, true, true},
		"id DESC NULLS FIRST": {id, true, false},
		"id DESC NULLS LAST":  {id, true, true},
		"id nulls last":       {id, false, true},
		"id ASC NULLS FIRST":  {id, false, false},
		"bucket(4, id) DESC":  {Term{Bucket, 4, "id"}, true, true},
	} {
		got, err := ParseOrder(text)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
		if again, err := ParseOrder(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %v, %v", text, got.String(), again, err)
		}
	}
	for _, text := range []string{"", "id UP", "id DESC ASC", "id NULLS", "id NULLS MIDDLE", "id, other"} {
		if got, err := ParseOrder(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
