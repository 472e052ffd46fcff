package k6http

import (
	"crypto/rand"
	"net/http"
	"net/http/httputil"
	"strings"

	"github.com/sirupsen/logrus"
)

// debug logs the requests and answers of a round tripper.
type debug struct {
	next http.RoundTripper
	log  logrus.FieldLogger
	full bool // bodies too
}

func (d *debug) RoundTrip(req *http.Request) (*http.Response, error) {
	log := d.log.WithFields(logrus.Fields{"source": "http-debug", "request_id": rand.Text()})
	show := func(what string, dump []byte, err error) {
		if err != nil {
			log.WithError(err).Warn("a message could not be shown for httpDebug")
			return
		}
		log.Infof("%s:\n%s", what, strings.ReplaceAll(string(dump), "\r\n", "\n"))
	}
	dump, err := httputil.DumpRequestOut(req, d.full)
	show("Request", dump, err)
	resp, err := d.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	dump, dumpErr := httputil.DumpResponse(resp, d.full)
	show("Response", dump, dumpErr)
	return resp, nil
}
