/// Returns text escaped for elements and attributes of XML and HTML: escapes the five special characters, and drops characters that XML
/// forbids.
package func escapedForMarkup(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "\"": result += "&quot;"
        case "'": result += "&apos;"
        case "\t", "\n": result.unicodeScalars.append(scalar)
        case _ where scalar.value < 0x20, "\u{fffe}", "\u{ffff}": break
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
