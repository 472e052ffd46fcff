package k6http

import (
	"crypto/md5" // RFC 7616 has it
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// mostChallenge bounds what is read of a challenge's body for the sake of its
// connection.
const mostChallenge = 1 << 20

// digest answers a server's challenge with the digest of a name and a password
// (RFC 7616). Only the host of the first request gets it.
type digest struct {
	next http.RoundTripper
	hops *hops // where next ends
	user *url.Userinfo
	host string
}

func (d *digest) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || req.URL.Host != d.host {
		return resp, err
	}
	for _, header := range resp.Header.Values("WWW-Authenticate") {
		challenge, ok := parseChallenge(header)
		if !ok {
			continue
		}
		authorization, err := challenge.answer(req.Method, req.URL.RequestURI(), d.user, rand.Text())
		if err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		_, _ = io.CopyN(io.Discard, resp.Body, mostChallenge)
		_ = resp.Body.Close()
		d.hops.last.challenged = true
		again := req.Clone(req.Context())
		again.Header.Set("Authorization", authorization)
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		return d.next.RoundTrip(again)
	}
	return resp, nil
}

// challenge holds the fields of a WWW-Authenticate header.
type challenge map[string]string

// parseChallenge reads a header of the scheme Digest; other schemes are not ok.
func parseChallenge(header string) (c challenge, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "Digest") {
		return nil, false
	}
	c = make(challenge)
	for {
		key, after, found := strings.Cut(strings.TrimLeft(rest, " ,"), "=")
		if !found {
			return c, true
		}
		var val string
		if quoted, isQuoted := strings.CutPrefix(after, `"`); isQuoted {
			val, rest, _ = strings.Cut(quoted, `"`)
		} else {
			val, rest, _ = strings.Cut(after, ",")
		}
		c[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(val)
	}
}

// answer is the Authorization header for a challenge; cnonce is any text.
func (c challenge) answer(method, uri string, user *url.Userinfo, cnonce string) (string, error) {
	var hash func() hash.Hash
	algorithm, session := strings.CutSuffix(strings.ToUpper(c["algorithm"]), "-SESS")
	switch algorithm {
	case "", "MD5":
		hash = md5.New
	case "SHA-256":
		hash = sha256.New
	default:
		return "", fmt.Errorf("digest authentication: the algorithm %q is none of MD5, SHA-256", c["algorithm"])
	}
	digest := func(parts ...string) string {
		h := hash()
		_, _ = io.WriteString(h, strings.Join(parts, ":"))
		return hex.EncodeToString(h.Sum(nil))
	}
	password, _ := user.Password()
	secret := digest(user.Username(), c["realm"], password)
	if session {
		secret = digest(secret, c["nonce"], cnonce)
	}
	what := digest(method, uri)
	var b strings.Builder
	fmt.Fprintf(&b, `Digest username="%s", realm="%s", nonce="%s", uri="%s"`, user.Username(), c["realm"], c["nonce"], uri)
	const count = "00000001"
	switch {
	case c["qop"] == "":
		fmt.Fprintf(&b, `, response="%s"`, digest(secret, c["nonce"], what))
	case offersAuth(c["qop"]):
		fmt.Fprintf(&b, `, response="%s", qop=auth, nc=%s, cnonce="%s"`,
			digest(secret, c["nonce"], count, cnonce, "auth", what), count, cnonce)
	default:
		return "", fmt.Errorf("digest authentication: the protection %q does not offer \"auth\"", c["qop"])
	}
	if c["opaque"] != "" {
		fmt.Fprintf(&b, `, opaque="%s"`, c["opaque"])
	}
	if c["algorithm"] != "" {
		fmt.Fprintf(&b, `, algorithm=%s`, c["algorithm"])
	}
	return b.String(), nil
}

func offersAuth(qop string) bool {
	for _, offer := range strings.Split(qop, ",") {
		if strings.TrimSpace(offer) == "auth" {
			return true
		}
	}
	return false
}
