// The parts of the report page. The files of this folder are compiled into the program, so that an installed binary needs no
// resource folder.
#ifndef CREPORTPAGE_H
#define CREPORTPAGE_H

/// The document, with placeholders for style, script and data. Like the others, NUL-terminated UTF-8.
const char *creportpage_html(void);
/// The style sheet.
const char *creportpage_css(void);
/// The script.
const char *creportpage_script(void);
/// The additional script of an ongoing drive, which precedes the other script.
const char *creportpage_live(void);

#endif
