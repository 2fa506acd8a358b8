/// Abbreviated road and place names, as on street signs.
///
/// The words are those of OpenStreetMap's "Name finder: Abbreviations" for the languages of the signs; a name without any of them is not
/// shortened.
public enum Abbreviations {
    private static let words: [String: String] = [
        "Street": "St", "Road": "Rd", "Avenue": "Ave", "Boulevard": "Blvd", "Drive": "Dr", "Lane": "Ln", "Square": "Sq",
        "Place": "Pl", "Court": "Ct", "Highway": "Hwy", "Parkway": "Pkwy", "Expressway": "Expy", "Freeway": "Fwy",
        "Motorway": "Mwy", "Terrace": "Ter", "Saint": "St", "North": "N", "South": "S", "East": "E", "West": "W",
        "Rua": "R.", "Avenida": "Av.", "Travessa": "Tv.", "Largo": "Lg.", "Praça": "Pç.", "Estrada": "Estr.",
        "Calle": "C/", "Carretera": "Ctra.", "Plaza": "Pl.", "Carrer": "C.", "Avinguda": "Av.", "Plaça": "Pl.",
        "Rue": "R.", "Route": "Rte", "Chemin": "Ch.", "Straße": "Str.", "Strasse": "Str.", "Platz": "Pl.",
    ]
    private static let endings: [(long: String, short: String)] = [
        ("straße", "str."), ("strasse", "str."), ("platz", "pl."), ("katu", "k."), ("gatan", "g."), ("vägen", "v."),
    ]

    /// Returns the abbreviated form of a text; nil when it has none.
    public static func shorter(_ text: String) -> String? {
        var isShorter = false
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map { word -> String in
            if let short = words[String(word)] {
                isShorter = true
                return short
            }
            for (long, short) in endings where word.count > long.count && word.hasSuffix(long) {
                isShorter = true
                return word.dropLast(long.count) + short
            }
            return String(word)
        }
        return isShorter ? parts.joined(separator: " ") : nil
    }
}
