package render_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium that is driven over a pair of pipes, by the
// DevTools protocol (https://chromedevtools.github.io/devtools-protocol/): JSON
// messages, each ended by a zero byte.
type browser struct {
	t        *testing.T // the one that is running
	to       io.Writer
	messages chan message
	session  string
	last     int
	// events are those that have come so far.
	events []message
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// patience is how long the browser may take for anything.
const patience = 30 * time.Second

// newBrowser starts a browser with one empty page, and ends it with the test. It
// skips the test where there is no Chromium, but not in CI, which installs one.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		require.Empty(t, os.Getenv("CI_NEEDS_BROWSER"), "no Chromium is installed")
		t.Skip("no Chromium is installed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--window-size=1280,900", "--remote-debugging-pipe", "about:blank")
	cmd.WaitDelay = 5 * time.Second
	read, to, err := os.Pipe()
	require.NoError(t, err)
	from, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{read, write} // its file descriptors 3 and 4
	require.NoError(t, cmd.Start())
	require.NoError(t, read.Close())
	require.NoError(t, write.Close())
	b := &browser{t: t, to: to, messages: make(chan message)}
	go b.listen(ctx, from)
	t.Cleanup(func() {
		_, _ = fmt.Fprintf(to, `{"id":%d,"method":"Browser.close"}`+"\x00", b.last+1)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
			cancel()
		case <-time.After(patience):
			cancel()
			<-ended
		}
		_ = to.Close()
		_ = from.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) listen(ctx context.Context, from io.Reader) {
	defer close(b.messages)
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 64<<20)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for scanner.Scan() {
		var m message
		if json.Unmarshal(scanner.Bytes(), &m) != nil {
			return
		}
		select {
		case b.messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for a message.
func (b *browser) next(what string) message {
	b.t.Helper()
	select {
	case m, ok := <-b.messages:
		require.True(b.t, ok, "the browser ended before %s", what)
		if m.ID == 0 {
			b.events = append(b.events, m)
		}
		return m
	case <-time.After(patience):
		require.FailNow(b.t, "the browser does not answer", what)
		return message{}
	}
}

// call calls a method and decodes its result.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	request := map[string]any{"id": b.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	data, err := json.Marshal(request)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(data, 0))
	require.NoError(b.t, err)
	for {
		m := b.next(method)
		if m.ID != b.last {
			continue
		}
		require.Nil(b.t, m.Error, method)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

// open shows a page and waits until it is loaded.
func (b *browser) open(page string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	require.NoError(b.t, os.WriteFile(path, []byte(page), 0o600))
	b.events = nil
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for len(b.seen("Page.loadEventFired")) == 0 {
		b.next("the page is loaded")
	}
}

// seen are the parameters of the events of a kind since the page was opened.
func (b *browser) seen(method string) []string {
	var out []string
	for _, m := range b.events {
		if m.Method == method {
			out = append(out, string(m.Params))
		}
	}
	return out
}

// eval is the value of a JavaScript expression in the page.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	require.Empty(b.t, string(answer.ExceptionDetails), expression)
	if value != nil {
		require.NoError(b.t, json.Unmarshal(answer.Result.Value, value), expression)
	}
}

// text is an expression's value that is a string.
func (b *browser) text(expression string) string {
	b.t.Helper()
	var s string
	b.eval(expression, &s)
	return s
}

// count is how many elements match a selector.
func (b *browser) count(selector string) int {
	b.t.Helper()
	n := 0
	b.eval(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &n)
	return n
}

// press presses and releases a key.
func (b *browser) press(key string, code int) {
	b.t.Helper()
	text := ""
	if key == "Enter" {
		text = "\r"
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		event := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			event["text"] = text
		}
		b.call("Input.dispatchKeyEvent", event, nil)
	}
}

// theme asks for light or dark colours.
func (b *browser) theme(name string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// shoot writes a picture of the whole page into the folder that SCREENSHOTS names,
// if it names one.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}
