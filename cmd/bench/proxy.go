package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	chunkSize = 64 << 10 // bytes that are read at once
	maxQueued = 256      // chunks on their way to an end; then no more are read
)

// A proxy forwards TCP connections and delays what each end sends, as a network does: in
// order, and without limiting the bandwidth. It runs in one thread on clientCore with exact
// timers: a goroutine that sleeps for less than a millisecond may sleep a millisecond longer.
type proxy struct {
	target   *unix.SockaddrInet4
	delay    time.Duration
	listener int
	ends     []*proxyEnd
	buffer   [chunkSize]byte
}

// A proxyEnd is one of the two ends of a connection.
type proxyEnd struct {
	fd      int
	other   *proxyEnd
	queue   []chunk // on their way to this end
	ended   bool    // sends no more
	blocked bool    // accepts no more for now
	closed  bool
}

// A chunk is data, or without data the end of it.
type chunk struct {
	due  time.Time
	data []byte
}

// startProxy starts a proxy to an address and returns its own, on loopback. It runs until
// ctx ends.
func startProxy(ctx context.Context, target string, delay time.Duration) (address string, err error) {
	to, err := netip.ParseAddrPort(target)
	if err != nil {
		return "", err
	}
	p := &proxy{target: &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}, delay: delay}
	if p.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return "", err
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	err = errors.Join(
		unix.Bind(p.listener, &unix.SockaddrInet4{Addr: loopback.As4()}),
		unix.Listen(p.listener, unix.SOMAXCONN),
	)
	bound, nameErr := unix.Getsockname(p.listener)
	if err = errors.Join(err, nameErr); err != nil {
		return "", errors.Join(err, unix.Close(p.listener))
	}
	go p.run(ctx)
	return fmt.Sprintf("%s:%d", loopback, bound.(*unix.SockaddrInet4).Port), nil
}

func (p *proxy) run(ctx context.Context) {
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	// Without the privileges for these the delays are less exact, which the report shows.
	var core unix.CPUSet
	core.Set(clientCore)
	_ = unix.SchedSetaffinity(0, &core)
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for ctx.Err() == nil {
		p.step()
	}
	for _, e := range p.ends {
		e.close()
	}
	_ = unix.Close(p.listener)
}

// step waits until something arrives, is due or can be written, and forwards it.
func (p *proxy) step() {
	fds := []unix.PollFd{{Fd: int32(p.listener), Events: unix.POLLIN}}
	timeout := 100 * time.Millisecond // then run checks its context
	for _, e := range p.ends {
		fd := unix.PollFd{Fd: -1}
		if !e.ended && len(e.other.queue) < maxQueued {
			fd = unix.PollFd{Fd: int32(e.fd), Events: unix.POLLIN}
		}
		if e.blocked {
			fd = unix.PollFd{Fd: int32(e.fd), Events: fd.Events | unix.POLLOUT}
		} else if len(e.queue) > 0 {
			timeout = min(timeout, max(0, time.Until(e.queue[0].due)))
		}
		fds = append(fds, fd)
	}
	wait := unix.NsecToTimespec(timeout.Nanoseconds())
	if _, err := unix.Ppoll(fds, &wait, nil); err != nil {
		return // interrupted by a signal
	}
	for i, e := range p.ends {
		if fds[i+1].Revents&^unix.POLLOUT != 0 {
			p.read(e)
		}
	}
	for _, e := range p.ends {
		e.write()
	}
	p.ends = slices.DeleteFunc(p.ends, func(e *proxyEnd) bool { return e.closed })
	if fds[0].Revents != 0 {
		p.accept()
	}
}

func (p *proxy) accept() {
	client, _, err := unix.Accept4(p.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return
	}
	a, b := &proxyEnd{fd: client}, &proxyEnd{}
	a.other, b.other = b, a
	if b.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		_ = unix.Close(client)
		return
	}
	err = unix.Connect(b.fd, p.target)
	for _, e := range []*proxyEnd{a, b} {
		err = errors.Join(err, unix.SetNonblock(e.fd, true), unix.SetsockoptInt(e.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	}
	if err != nil {
		a.close()
		return
	}
	p.ends = append(p.ends, a, b)
}

// read queues what an end has sent for the other.
func (p *proxy) read(e *proxyEnd) {
	n, err := unix.Read(e.fd, p.buffer[:])
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	n = max(n, 0)
	e.ended = n == 0
	e.other.queue = append(e.other.queue, chunk{time.Now().Add(p.delay), slices.Clone(p.buffer[:n])})
}

// write writes what is due. When the other end was closed, this one is closed, too.
func (e *proxyEnd) write() {
	e.blocked = false
	for !e.closed && len(e.queue) > 0 && !e.queue[0].due.After(time.Now()) {
		next := &e.queue[0]
		if len(next.data) == 0 {
			e.close()
			return
		}
		n, err := unix.Write(e.fd, next.data)
		switch {
		case errors.Is(err, unix.EAGAIN):
			e.blocked = true
			return
		case err != nil:
			e.close()
		case n == len(next.data):
			e.queue = e.queue[1:]
		default:
			next.data = next.data[n:]
		}
	}
}

// close closes both ends.
func (e *proxyEnd) close() {
	for _, end := range []*proxyEnd{e, e.other} {
		if !end.closed {
			end.closed = true
			_ = unix.Close(end.fd)
		}
	}
}
