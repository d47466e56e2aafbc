package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const addresses = 250 // of the loopback net, in each of its last parts

// counted is what was seen since the last `forget`, and how many watches and connections are open now.
type counted struct {
	watches int

	lock        sync.Mutex
	opened      []float64 // when each watch was answered
	answers     map[string]int
	handshakes  []float64
	resumed     int
	failed      int
	connections int
	began       float64

	openWatches, openConnections atomic.Int64
	received, sent               atomic.Int64
}

func newCounted(watches int) *counted {
	made := &counted{watches: watches}
	made.forget()
	return made
}

func (c *counted) forget() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.opened, c.answers, c.handshakes = nil, map[string]int{}, nil
	c.resumed, c.failed, c.connections, c.began = 0, 0, 0, now()
	c.received.Store(0)
	c.sent.Store(0)
}

func (c *counted) allOpen() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return int(c.openWatches.Load()) == c.watches && len(c.opened) >= c.watches
}

func (c *counted) report() map[string]any {
	c.lock.Lock()
	defer c.lock.Unlock()
	return map[string]any{
		"watches": c.watches, "open": c.openWatches.Load(), "began": c.began, "opened": spread(c.opened),
		"answers": c.answers, "handshakes": len(c.handshakes), "handshake_seconds": spread(c.handshakes),
		"resumed": c.resumed, "failed_handshakes": c.failed, "connections": c.connections,
		"open_connections": c.openConnections.Load(), "received": c.received.Load(), "sent": c.sent.Load(),
	}
}

// spread is the median, the 99th percentile and the most.
func spread(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return []float64{sorted[len(sorted)/2], sorted[len(sorted)*99/100], sorted[len(sorted)-1]}
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

// dialer connects from an address of the client's own, as if it were another machine.
func (c *counted) dialer(number int) func(context.Context, string, string) (net.Conn, error) {
	local := &net.TCPAddr{IP: net.IPv4(127, 0, byte(2+number/addresses), byte(1+number%addresses))}
	dialer := &net.Dialer{LocalAddr: local, Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // client-go's
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.lock.Lock()
		c.connections++
		c.lock.Unlock()
		c.openConnections.Add(1)
		return &connection{Conn: made, counted: c}, nil
	}
}

type connection struct {
	net.Conn
	counted *counted
	once    sync.Once
}

func (c *connection) Read(into []byte) (int, error) {
	count, err := c.Conn.Read(into)
	c.counted.received.Add(int64(count))
	return count, err
}

func (c *connection) Write(from []byte) (int, error) {
	count, err := c.Conn.Write(from)
	c.counted.sent.Add(int64(count))
	return count, err
}

func (c *connection) Close() error {
	c.once.Do(func() { c.counted.openConnections.Add(-1) })
	return c.Conn.Close()
}

func (c *counted) wrap(next http.RoundTripper) http.RoundTripper { return &tripper{next, c} }

// tripper counts answers by what was asked, and watches until their bodies end.
type tripper struct {
	next    http.RoundTripper
	counted *counted
}

func (t *tripper) RoundTrip(request *http.Request) (*http.Response, error) {
	c := t.counted
	answer, err := t.next.RoundTrip(request.WithContext(c.traced(request.Context())))
	query := request.URL.Query()
	watch := query.Get("watch") == "true" || query.Get("watch") == "1"
	what := "list"
	if query.Get("sendInitialEvents") == "true" {
		what = "watch of all"
	} else if watch {
		what = "watch"
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.answers[what+": "+outcome(answer, err)]++
	if err == nil && watch && answer.StatusCode == http.StatusOK {
		c.opened = append(c.opened, now())
		c.openWatches.Add(1)
		answer.Body = &body{ReadCloser: answer.Body, counted: c}
	}
	return answer, err
}

func (c *counted) traced(ctx context.Context) context.Context {
	var began float64
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { began = now() },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			c.lock.Lock()
			defer c.lock.Unlock()
			if err != nil {
				c.failed++
				return
			}
			c.handshakes = append(c.handshakes, now()-began)
			if state.DidResume {
				c.resumed++
			}
		},
	})
}

// outcome is a status, with a mark where the answer says when to come back, or what went wrong, without addresses.
func outcome(answer *http.Response, err error) string {
	var network *net.OpError
	switch {
	case err == nil && answer.Header.Get("Retry-After") != "":
		return fmt.Sprintf("%d, Retry-After", answer.StatusCode)
	case err == nil:
		return fmt.Sprint(answer.StatusCode)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.As(err, &network):
		return network.Op + ": " + network.Err.Error()
	}
	text := err.Error()
	if strings.Contains(text, "EOF") {
		return "EOF"
	}
	return text
}

// body is that of a watch.
type body struct {
	io.ReadCloser
	counted *counted
	once    sync.Once
}

func (b *body) Read(into []byte) (int, error) {
	count, err := b.ReadCloser.Read(into)
	if err != nil {
		b.ended()
	}
	return count, err
}

func (b *body) Close() error {
	b.ended()
	return b.ReadCloser.Close()
}

func (b *body) ended() { b.once.Do(func() { b.counted.openWatches.Add(-1) }) }
