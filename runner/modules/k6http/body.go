package k6http

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// file is what http.file() makes: a part of a multipart body.
type file struct {
	Data        sobek.Value `js:"data"`
	Filename    string      `js:"filename"`
	ContentType string      `js:"content_type"`
	bytes       []byte
}

// file is http.file(data, filename, contentType).
func (c *client) file(call sobek.FunctionCall) sobek.Value {
	data, ok := binary(call.Argument(0))
	if !ok {
		modules.Throw(c.rt, "file(): the data is %s, want text or an ArrayBuffer", came(call.Argument(0)))
	}
	f := &file{
		Data: call.Argument(0), bytes: data,
		Filename: strconv.FormatInt(time.Now().UnixNano(), 10), ContentType: "application/octet-stream",
	}
	if v := call.Argument(1); !modules.IsNullish(v) {
		f.Filename = v.String()
	}
	if v := call.Argument(2); !modules.IsNullish(v) {
		f.ContentType = v.String()
	}
	return c.rt.ToValue(f)
}

// binary is a copy of the bytes of a text, an ArrayBuffer or an array of bytes.
func binary(v sobek.Value) ([]byte, bool) {
	if modules.IsNullish(v) {
		return nil, false
	}
	switch data := v.Export().(type) {
	case string:
		return []byte(data), true
	case sobek.ArrayBuffer:
		return bytes.Clone(data.Bytes()), true
	case []byte:
		return bytes.Clone(data), true
	}
	return nil, false
}

// readBody is a request's body and the type that goes with it, if any: bytes
// as they are, an object as a form or, if it holds files, as multipart.
func readBody(v sobek.Value) (body []byte, contentType string, err error) {
	if data, ok := binary(v); ok {
		return data, "", nil
	}
	o, ok := v.(*sobek.Object)
	if ok {
		_, ok = o.Export().(map[string]any)
	}
	if !ok {
		return nil, "", fmt.Errorf("the body is %s, want text, an ArrayBuffer or an object of form fields and files", came(v))
	}
	for _, key := range o.Keys() {
		if _, ok := o.Get(key).Export().(*file); ok {
			return multipartBody(o)
		}
	}
	form := make(url.Values)
	for _, key := range o.Keys() {
		v := o.Get(key)
		if list, ok := v.(*sobek.Object); ok && list.ClassName() == "Array" {
			for _, i := range list.Keys() {
				form.Add(key, list.Get(i).String())
			}
			continue
		}
		form.Set(key, v.String())
	}
	return []byte(form.Encode()), "application/x-www-form-urlencoded", nil
}

func multipartBody(o *sobek.Object) ([]byte, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")
	for _, key := range o.Keys() {
		header := make(textproto.MIMEHeader)
		data := []byte(o.Get(key).String())
		disposition := fmt.Sprintf(`form-data; name="%s"`, escape.Replace(key))
		if f, ok := o.Get(key).Export().(*file); ok {
			data = f.bytes
			disposition += fmt.Sprintf(`; filename="%s"`, escape.Replace(f.Filename))
			header.Set("Content-Type", f.ContentType)
		}
		header.Set("Content-Disposition", disposition)
		part, err := w.CreatePart(header)
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(data); err != nil {
			return nil, "", err
		}
	}
	err := w.Close()
	return buf.Bytes(), w.FormDataContentType(), err
}

// encodings reads the parameter compression: the names of algorithms, applied
// in their order.
func encodings(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for i, name := range list {
		name = strings.TrimSpace(name)
		switch list[i] = name; name {
		case "gzip", "deflate":
		case "br", "zstd":
			return nil, refusal{fmt.Sprintf("the compression %q", name)}
		default:
			return nil, fmt.Errorf("compression %q is none of gzip, deflate", name)
		}
	}
	return list, nil
}

func compress(body []byte, algorithms []string) ([]byte, error) {
	for _, name := range algorithms {
		var buf bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&buf)
		if name == "deflate" {
			w = zlib.NewWriter(&buf)
		}
		if _, err := w.Write(body); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		body = buf.Bytes()
	}
	return body, nil
}
