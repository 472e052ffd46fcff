package render_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

// quiet checks that the page asked nothing of the network, and complained of nothing.
func (b *browser) quiet() {
	b.t.Helper()
	b.eval("0", nil) // what happened before it has been told by now
	require.Len(b.t, b.seen("Network.requestWillBeSent"), 1, "only the page itself")
	for _, event := range []string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"} {
		require.Empty(b.t, b.seen(event))
	}
}

// One browser serves all of these: to start one takes longer than all they do.
func TestPagesInABrowser(t *testing.T) {
	b := newBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"plots and themes": plotsAndThemes, "sorting": sorting, "foreign scripts": foreignScripts, "diff": diffPage, "two labs": labsPage,
		"no JavaScript, and paper": plainAndPaper,
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
			test(t, b)
		})
	}
	b.t = t
}

func plotsAndThemes(t *testing.T, b *browser) {
	b.open(text(t, render.HTML, judged(t)))
	b.quiet()

	for plot, marks := range map[string]int{"amplification": 4, "success": 4, "time": 8, "rejections": 2} {
		require.Equal(t, marks, b.count("#plot-"+plot+" svg[role=img] g:has(title)"), plot)
		require.Equal(t, 0, b.count("#plot-"+plot+" svg[role=img]:not([aria-label])"), plot)
		height := 0.0
		b.eval("document.querySelector('#plot-"+plot+" svg[role=img]').getBoundingClientRect().height", &height)
		require.Greater(t, height, 40.0, plot)
	}
	wide := false
	b.eval("document.documentElement.scrollWidth > innerWidth", &wide)
	require.False(t, wide, "only tables scroll sideways")
	b.eval("(w => w.scrollWidth > w.clientWidth)(document.querySelector('.wide'))", &wide)
	require.False(t, wide, "the first table has room")

	colours := map[string]string{}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		colours[theme] = b.text("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color")
		b.shoot("page-" + theme + ".png")
	}
	require.NotEqual(t, colours["light"], colours["dark"])
	b.quiet()
}

func labsPage(t *testing.T, b *browser) {
	b.open(text(t, render.HTML, twoLabs(t, compare.Options{})))
	b.quiet()
	names := func(query string) string {
		return b.text("[...document.querySelectorAll('" + query + "')].map((e) => e.textContent).join('; ')")
	}
	require.Contains(t, names("#plot-amplification g > text:first-of-type"), "06 jitter of before; 06 jitter of after")
	require.Contains(t, names("#plot-success .labels text"), "runs 06 of after, 06 of before", "the points are the same")
	require.Equal(t, "07 circuit-breaker-random-failures of after", names("#plot-rejections g > text:first-of-type"))
	cut := false
	b.eval(`[...document.querySelectorAll('#plot-amplification g')].some((g) => g.querySelector('text').getBoundingClientRect().left < g.ownerSVGElement.getBoundingClientRect().left)`, &cut)
	require.False(t, cut, "a name begins outside of its plot")
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.shoot("labs-" + theme + ".png")
	}
}

func sorting(t *testing.T, b *browser) {
	b.open(text(t, render.HTML, judged(t)))
	last := `[...document.querySelectorAll('table.sortable')].at(-1)`
	rows := `[...` + last + `.tBodies[0].rows].map((r) => r.cells[0].textContent.trim()).join(' ')`
	head := func(title string) string {
		return `[...` + last + `.tHead.querySelectorAll('button')].find((b) => b.textContent === '` + title + `')`
	}
	require.Equal(t, "01 02 03 04", b.text(rows))
	b.eval(head("amplification")+".click()", nil)
	require.Equal(t, "03 04 01 02", b.text(rows))
	require.Equal(t, "ascending", b.text(head("amplification")+".parentNode.getAttribute('aria-sort')"))
	b.eval(head("amplification")+".click()", nil)
	require.Equal(t, "02 01 04 03", b.text(rows))
	b.eval(head("policy and scenario")+".click()", nil)
	require.Equal(t, "04 03 02 01", b.text(rows))

	// By keyboard: the focus shows the meaning, Enter sorts, Escape hides.
	b.eval(head("amplification")+".focus()", nil)
	b.eval("scrollTo(0, 1e6)", nil)
	b.eval(head("run")+".focus()", nil)
	b.press("Tab", 9)
	require.Equal(t, "policy and scenario", b.text("document.activeElement.textContent"))
	require.Equal(t, "Policy and scenario of the run.", b.text("document.getElementById('tip').textContent"))
	b.press("Enter", 13)
	require.Equal(t, "descending", b.text("document.activeElement.parentNode.getAttribute('aria-sort')"))
	require.Equal(t, "01 02 03 04", b.text(rows))
	b.press("Escape", 27)
	hidden := false
	b.eval("document.getElementById('tip').hidden", &hidden)
	require.True(t, hidden)

	// Rows stay in their groups, and what a row ranges over stays below it.
	b.eval("document.querySelectorAll('table.sortable thead button')[3].click()", nil)
	require.Equal(t, "group ranged ranges ranged ranges",
		b.text("[...document.querySelector('table.sortable').tBodies[0].rows].map((r) => r.className).join(' ')"))

	// A figure's cell tells what its column means.
	b.eval("document.querySelector('table.sortable td[data-v]').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))", nil)
	require.Equal(t, "User requests: executions of the policy.", b.text("document.getElementById('tip').textContent"))
	b.quiet()
}

func plainAndPaper(t *testing.T, b *browser) {
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(text(t, render.HTML, judged(t)))
	require.Zero(t, b.count("button"))
	require.Equal(t, "Downstream calls / requests.", b.text("[...document.querySelectorAll('th')].find((h) => h.textContent === 'amplification').title"))
	require.Equal(t, 4, b.count("section[id^=plot-]"))
	var paper struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &paper)
	require.Greater(t, len(paper.Data), 10_000)
}

// The page's own script is the only one that may run.
func foreignScripts(t *testing.T, b *browser) {
	for _, f := range []renderer{render.HTML, diffRenderer(render.DiffHTML)} {
		b.open(text(t, f, nasty(`<script>document.title='run'</script><img src=x onerror="document.title='run'">`)))
		require.Contains(t, b.text("document.title"), "Retry Lab")
		b.quiet()
	}
	page := text(t, render.HTML, judged(t))
	b.open(page[:len(page)-len("</body>\n</html>\n\n")] + `<script>document.title = 'run'</script>`)
	require.Contains(t, b.text("document.title"), "Retry Lab")
}

func diffPage(t *testing.T, b *browser) {
	diff := changed(t)
	b.open(text(t, func(w io.Writer, _ compare.Report) error { return render.DiffHTML(w, diff) }, compare.Report{}))
	b.quiet()
	require.Equal(t, len(diff.Columns), b.count("#plot-changes svg[role=img]"))
	require.Equal(t, diff.Count(compare.Worse), b.count("#plot-changes circle.worse"))
	require.Equal(t, diff.Count(compare.Better), b.count("#plot-changes circle.better"))
	require.Equal(t, diff.Count(compare.Worse), b.count("td.bad"))
	b.eval("document.querySelectorAll('thead button')[4].click()", nil)
	require.Equal(t, "-20.0%", b.text("document.querySelector('tbody tr').cells[4].textContent"))
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.shoot("diff-" + theme + ".png")
	}
	b.quiet()
}
