#include "CReportPage.h"

// #embed is part of C23; the compiler also supports it in earlier versions of the language.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char html[] = {
#embed "page.html"
    , 0};

static const char css[] = {
#embed "page.css"
    , 0};

// The scripts share one scope, in the order of use.
static const char script[] = {
#embed "data.js"
    ,
#embed "map.js"
    ,
#embed "plots.js"
    ,
#embed "page.js"
    , 0};

static const char live[] = {
#embed "live.js"
    , 0};

const char *creportpage_html(void) { return html; }
const char *creportpage_css(void) { return css; }
const char *creportpage_script(void) { return script; }
const char *creportpage_live(void) { return live; }
