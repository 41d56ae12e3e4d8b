package faultproxy

import "math/rand/v2"

// Request is what a plan knows of one.
type Request struct {
	// Verb is the method of an HTTP request or the kind of a message of PostgreSQL's, and Object its path or statement.
	Verb, Object string
	// Conditional says that an HTTP request has If-Match or If-None-Match, or Google's parameter for it.
	Conditional bool
	// Length is that of the body in bytes, -1 if it is not told.
	Length int64
}

// String is the request in a log.
func (r Request) String() string { return r.Verb + " " + r.Object }

// Plan says what happens to request n, counted from 1: nil for nothing. It is called for one request at a time.
type Plan func(n int, r Request) *Fault

// Nth strikes the n-th request that the fault fits, from 1, and no other.
func Nth(n int, fault Fault) Plan {
	fitting := 0
	return func(_ int, r Request) *Fault {
		if !fault.fits(r) {
			return nil
		}
		if fitting++; fitting != n {
			return nil
		}
		return &fault
	}
}

// Each strikes every request that the fault fits.
func Each(fault Fault) Plan {
	return func(_ int, r Request) *Fault {
		if !fault.fits(r) {
			return nil
		}
		return &fault
	}
}

// Drawn strikes each request with a probability, by one of the faults that fit it. What is drawn for request n depends on
// the seed and n alone, so that requests which come in another order do not shift it.
func Drawn(seed uint64, rate float64, faults ...Fault) Plan {
	return func(n int, r Request) *Fault {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		if random.Float64() >= rate {
			return nil
		}
		var fitting []*Fault
		for i := range faults {
			if faults[i].fits(r) {
				fitting = append(fitting, &faults[i])
			}
		}
		if len(fitting) == 0 {
			return nil
		}
		return fitting[random.IntN(len(fitting))]
	}
}

// First gives a request to the first plan that does something to it.
func First(plans ...Plan) Plan {
	return func(n int, r Request) *Fault {
		var chosen *Fault
		for _, plan := range plans { // each counts every request
			if fault := plan(n, r); chosen == nil {
				chosen = fault
			}
		}
		return chosen
	}
}
