/// Returns text as XML and HTML have it, in elements and in attributes: their five special characters are escaped, and characters that XML
/// forbids are left out.
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
