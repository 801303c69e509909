package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// sendAtRate sends p.request at p.rate for a duration. Latency is measured from when a
// request was due, so that a server which stalls also delays the requests that could not
// be sent meanwhile (no coordinated omission). The client has a thread of its own on
// clientCore and never sleeps: no timer and no wake-up adds to the latency.
func sendAtRate(ctx context.Context, p *process, round int, duration time.Duration) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, duration+30*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		var core unix.CPUSet
		core.Set(clientCore)
		if err = unix.SchedSetaffinity(0, &core); err != nil {
			return
		}
		c := rateClient{
			epoll: -1, request: p.request, random: rand.New(rand.NewPCG(uint64(round), 0)),
			header: fmt.Sprintf("Host: %s\r\nAuthorization: Bearer %s\r\n", p.host, p.key),
		}
		defer c.close()
		if err = c.connect(p.host); err == nil {
			s, err = c.send(ctx, p.rate, duration)
		}
	}()
	<-done
	return s, err
}

// A rateClient sends requests at a constant rate on its connections.
type rateClient struct {
	request request
	header  string
	random  *rand.Rand
	epoll   int
	conns   []*rateConn
	free    []*rateConn // without a request
	buffer  []byte
}

type rateConn struct {
	fd       int
	due      time.Duration // when the request was to be sent, from the start
	response []byte        // what has been received of it
}

func (c *rateClient) connect(host string) (err error) {
	address, err := netip.ParseAddrPort(host)
	if err != nil {
		return err
	}
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for i := range connections {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		conn := &rateConn{fd: fd}
		c.conns, c.free = append(c.conns, conn), append(c.free, conn)
		if err := errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
			unix.Connect(fd, &unix.SockaddrInet4{Addr: address.Addr().As4(), Port: int(address.Port())}),
			unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}),
		); err != nil {
			return err
		}
	}
	return nil
}

func (c *rateClient) close() {
	for _, conn := range c.conns {
		_ = unix.Close(conn.fd)
	}
	_ = unix.Close(c.epoll)
}

func (c *rateClient) send(ctx context.Context, rate float64, duration time.Duration) (sample, error) {
	total := max(1, int(rate*duration.Seconds()))
	latencies := make([]time.Duration, 0, total)
	start := time.Now()
	for sent := 0; len(latencies) < total; {
		if err := ctx.Err(); err != nil {
			return sample{}, fmt.Errorf("after %d of %d responses: %w", len(latencies), total, err)
		}
		for sent < total && len(c.free) > 0 {
			due := time.Duration(float64(sent) / rate * float64(time.Second))
			if time.Since(start) < due {
				break
			}
			if err := c.sendOne(due); err != nil {
				return sample{}, err
			}
			sent++
		}
		completed, err := c.receive()
		if err != nil {
			return sample{}, err
		}
		for _, conn := range completed {
			latencies = append(latencies, time.Since(start)-conn.due)
		}
	}
	elapsed := time.Since(start)
	slices.Sort(latencies)
	return sample{requests: total, rate: float64(total) / elapsed.Seconds(), p99: percentile99(latencies)}, nil
}

func (c *rateClient) sendOne(due time.Duration) error {
	conn := c.free[0] // the longest free: servers close connections that send nothing
	c.free = c.free[1:]
	conn.due, conn.response = due, conn.response[:0]
	c.buffer = c.request.appendTo(c.buffer[:0], c.header, c.random)
	_, err := unix.Write(conn.fd, c.buffer)
	return err
}

// receive reads what has arrived and returns the connections whose response is
// complete, which are free again.
func (c *rateClient) receive() ([]*rateConn, error) {
	var events [connections]unix.EpollEvent
	n, err := unix.EpollWait(c.epoll, events[:], 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return nil, err
	}
	before := len(c.free)
	for _, event := range events[:max(n, 0)] {
		conn := c.conns[event.Fd]
		conn.response = slices.Grow(conn.response, 16<<10)
		n, err := unix.Read(conn.fd, conn.response[len(conn.response):cap(conn.response)])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, errors.New("the server closed a connection")
		}
		conn.response = conn.response[:len(conn.response)+n]
		length, err := responseLength(conn.response)
		if err != nil {
			return nil, err
		}
		if len(conn.response) == length {
			c.free = append(c.free, conn)
		}
	}
	return c.free[before:], nil
}

// responseLength returns the length of a response by its Content-Length, or -1 while its
// header is incomplete. A status that is not 2xx is an error.
func responseLength(response []byte) (int, error) {
	header, _, complete := bytes.Cut(response, []byte("\r\n\r\n"))
	if !complete {
		return -1, nil
	}
	if !bytes.HasPrefix(header, []byte("HTTP/1.1 2")) {
		return 0, fmt.Errorf("failed request: %s", response)
	}
	_, rest, _ := bytes.Cut(header, []byte("\r\nContent-Length: "))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	length, err := strconv.Atoi(string(value))
	if err != nil {
		return 0, fmt.Errorf("response without Content-Length: %s", header)
	}
	return len(header) + len("\r\n\r\n") + length, nil
}
