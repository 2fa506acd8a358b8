// The parts of the report page as they are in the files beside this one, compiled into the program: an installed binary
// needs no folder of resources.
#ifndef CREPORTPAGE_H
#define CREPORTPAGE_H

/// The document, with marks where style, script and data go; NUL-terminated UTF-8, as the others.
const char *creportpage_html(void);
/// Its style sheet.
const char *creportpage_css(void);
/// Its script.
const char *creportpage_script(void);
/// The script of a drive that is not over, which comes before the other.
const char *creportpage_live(void);

#endif
