// swift-format-ignore-file
// Generated from Languages by LanguageTests with NAVBUS_REWRITE=1; do not edit.

/// The files in `Languages`, in the order of their names.
enum LanguageFiles {
    static let texts: [String] = [
        ##"""
        # Deutsch: Anweisungen im Infinitiv, Straßennamen mit Artikel und Fall.

        [language]
        tag = de
        singular = one
        decimal separator = ","
        list separator = ", "
        capitals = yes
        characters per second = 14
        compass = Norden, Nordosten, Osten, Südosten, Süden, Südwesten, Westen, Nordwesten
        ordinals = erste, zweite, dritte, vierte, fünfte, sechste, siebte, achte, neunte, zehnte
        adjectives = alt, neu, groß, klein, lang, kurz, hoh, breit, schmal, ober, unter, mittler, äußer, inner, schwarz, weiß, rot, grün, gelb, blau, braun, golden, krumm, gerad, tief, nieder, vorder, hinter, nördlich, südlich, östlich, westlich, deutsch, französisch, englisch, russisch, hallesch, jüdisch, königlich, kaiserlich, schön, steil, still, hohl, dunkl, heilig, eisern, steinern, erst, zweit, dritt
        adjective endings = er, es, e

        # „Am Markt“ hat seinen Artikel schon: man biegt in die Straße Am Markt ab.
        [names]
        affixes = nord, süd, ost, west, nordost, nordwest, südost, südwest
        first: am, an, auf, im, in, zum, zur, beim, bei, hinter, hinterm, neben, vom, vor, unterm, zwischen = plain
        first: unter, über = plain
        reference = number
        first: straße, strasse, gasse, allee = in f
        first: weg, pfad, steig = in m
        first: platz, markt, ring, boulevard = on m
        first: promenade, chaussee, brücke, rue, avenue = on f
        first: ufer = on n
        first: fähre, autofähre = ferry
        ending: fähre = ferry
        ending: brücke, chaussee, promenade, tangente, autobahn, umgehung, schnellstraße, bundesstraße, steige, höhe = on f
        ending: platz, markt, ring, damm, wall, kreisel, bogen, deich, zubringer, schnellweg, berg, anger = on m
        ending: ufer, feld, tor, kreuz, dreieck, eck = on n
        ending: straße, strasse, str., gasse, allee, zeile, twiete, rampe, anlage, siedlung = in f
        ending: weg, steig, pfad, stieg, kamp, graben, hof, tunnel = in m

        # Ein weiblicher Name mit einem Adjektiv auf -er bleibt, wie er ist: die Stiller Straße ist nach einem Herrn Stiller benannt.
        # onto: wohin; on: worauf; along: dem gefolgt wird; ferry: mit der Fähre, die es schon im Namen haben kann.
        [forms]
        onto = auf {}
        onto.plain = in die Straße {}
        onto.number = auf die {}
        onto.on f = auf die {}
        onto.on m = auf den {adjective:en}
        onto.on n = auf das {adjective:e}
        onto.in f = in die {}
        onto.in m = in den {adjective:en}
        on = auf {}
        on.plain = auf der Straße {}
        on.number = auf der {}
        on.on f = auf der {adjective:e en}
        on.on m = auf dem {adjective:en}
        on.on n = auf dem {adjective:en}
        on.in f = auf der {adjective:e en}
        on.in m = auf dem {adjective:en}
        along = der Straße {}
        along.number = der {}
        along.on f = der {adjective:e en}
        along.on m = dem {adjective:en}
        along.on n = dem {adjective:en}
        along.in f = der {adjective:e en}
        along.in m = dem {adjective:en}
        ferry = die Fähre {}
        ferry.ferry = die {}

        [phrases]
        sentence.distance = in {distance:dative} {instruction}
        sentence.then = {instruction}, dann {next}
        sentence.junction = an der Kreuzung {junction} {instruction}
        sentence.destination = {instruction:start}Richtung {destination} {instruction:verb}
        sentence.continue = {distance} geradeaus weiterfahren
        sentence.continue.name = {distance} {name:along} folgen

        distance.metre.one = {number} Meter
        distance.metre.other = {number} Meter
        distance.metre.dative.one = {number} Meter
        distance.metre.dative.other = {number} Metern
        distance.kilometre.1 = einen Kilometer
        distance.kilometre.1.5 = eineinhalb Kilometer
        distance.kilometre.one = {number} Kilometer
        distance.kilometre.other = {number} Kilometer
        distance.kilometre.dative.1 = einem Kilometer
        distance.kilometre.dative.1.5 = eineinhalb Kilometern
        distance.kilometre.dative.other = {number} Kilometern
        distance.foot.one = {number} Fuß
        distance.foot.other = {number} Fuß
        distance.yard.one = {number} Yard
        distance.yard.other = {number} Yards
        distance.mile.0.25 = eine Viertelmeile
        distance.mile.dative.0.25 = einer Viertelmeile
        distance.mile.0.5 = eine halbe Meile
        distance.mile.dative.0.5 = einer halben Meile
        distance.mile.0.75 = eine Dreiviertelmeile
        distance.mile.dative.0.75 = einer Dreiviertelmeile
        distance.mile.1 = eine Meile
        distance.mile.dative.1 = einer Meile
        distance.mile.one = {number} Meile
        distance.mile.other = {number} Meilen
        display.metre = {number} m
        display.kilometre = {number} km
        display.foot = {number} Fuß
        display.yard = {number} yd
        display.mile = {number} mi

        depart = nach {direction} fahren
        depart.name = {name:on} nach {direction} fahren

        turn.left = links abbiegen
        turn.left.name = links {name:onto} abbiegen
        turn.right = rechts abbiegen
        turn.right.name = rechts {name:onto} abbiegen
        turn.slight left = leicht links abbiegen
        turn.slight left.name = leicht links {name:onto} abbiegen
        turn.slight right = leicht rechts abbiegen
        turn.slight right.name = leicht rechts {name:onto} abbiegen
        turn.sharp left = scharf links abbiegen
        turn.sharp left.name = scharf links {name:onto} abbiegen
        turn.sharp right = scharf rechts abbiegen
        turn.sharp right.name = scharf rechts {name:onto} abbiegen
        turn.straight = geradeaus fahren
        turn.straight.name = geradeaus {name:onto} fahren
        turn.uturn = wenden
        turn.uturn.name = wenden und {name:on} weiterfahren
        turn.ferry = die Fähre nehmen
        turn.ferry.name = {name:ferry} nehmen

        continue.left.name = links abbiegen und {name:along} folgen
        continue.right.name = rechts abbiegen und {name:along} folgen
        continue.slight left = links halten
        continue.slight left.name = links halten und {name:along} folgen
        continue.slight left.destination = links halten Richtung {destination}
        continue.slight right = rechts halten
        continue.slight right.name = rechts halten und {name:along} folgen
        continue.slight right.destination = rechts halten Richtung {destination}
        continue.sharp left.name = scharf links abbiegen und {name:along} folgen
        continue.sharp right.name = scharf rechts abbiegen und {name:along} folgen
        continue.straight = geradeaus weiterfahren
        continue.straight.name = geradeaus {name:on} weiterfahren
        continue.uturn = wenden
        continue.uturn.name = wenden und {name:on} weiterfahren
        new name = geradeaus weiterfahren
        new name.name = {name:on} weiterfahren

        fork.slight left = an der Gabelung links halten
        fork.slight left.name = links {name:onto} fahren
        fork.slight left.stay = links halten und {name:on} bleiben
        fork.slight left.destination = links halten Richtung {destination}
        fork.slight right = an der Gabelung rechts halten
        fork.slight right.name = rechts {name:onto} fahren
        fork.slight right.stay = rechts halten und {name:on} bleiben
        fork.slight right.destination = rechts halten Richtung {destination}
        fork.straight = an der Gabelung geradeaus fahren
        fork.straight.name = geradeaus {name:onto} fahren
        fork.straight.stay = geradeaus fahren und {name:on} bleiben
        fork.straight.destination = geradeaus Richtung {destination} fahren
        end of road.left = am Ende der Straße links abbiegen
        end of road.left.name = am Ende der Straße links {name:onto} abbiegen
        end of road.right = am Ende der Straße rechts abbiegen
        end of road.right.name = am Ende der Straße rechts {name:onto} abbiegen

        on ramp = die Auffahrt nehmen
        on ramp.left = die Auffahrt links nehmen
        on ramp.right = die Auffahrt rechts nehmen
        on ramp.name = die Auffahrt {name:onto} nehmen
        on ramp.left.name = die Auffahrt links {name:onto} nehmen
        on ramp.destination = die Auffahrt Richtung {destination} nehmen
        on ramp.left.destination = die Auffahrt links Richtung {destination} nehmen
        off ramp = die Ausfahrt nehmen
        off ramp.left = die Ausfahrt links nehmen
        off ramp.right = die Ausfahrt rechts nehmen
        off ramp.name = die Ausfahrt {name:onto} nehmen
        off ramp.left.name = die Ausfahrt links {name:onto} nehmen
        off ramp.right.name = die Ausfahrt rechts {name:onto} nehmen
        off ramp.named = die Ausfahrt {junction} nehmen
        off ramp.left.named = die Ausfahrt {junction} links nehmen
        off ramp.right.named = die Ausfahrt {junction} rechts nehmen
        off ramp.exit = die Ausfahrt {exit} nehmen
        off ramp.left.exit = die Ausfahrt {exit} links nehmen
        off ramp.right.exit = die Ausfahrt {exit} rechts nehmen
        off ramp.exit.name = die Ausfahrt {exit} {name:onto} nehmen
        off ramp.left.exit.name = die Ausfahrt {exit} links {name:onto} nehmen
        off ramp.right.exit.name = die Ausfahrt {exit} rechts {name:onto} nehmen
        off ramp.exit.named = die Ausfahrt {exit}, {junction}, nehmen
        off ramp.left.exit.named = die Ausfahrt {exit}, {junction}, links nehmen
        off ramp.right.exit.named = die Ausfahrt {exit}, {junction}, rechts nehmen
        merge = einfädeln
        merge.slight left = links einfädeln
        merge.slight right = rechts einfädeln
        merge.name = {name:onto} einfädeln
        merge.slight left.name = links {name:onto} einfädeln
        merge.slight right.name = rechts {name:onto} einfädeln

        roundabout = in den Kreisverkehr fahren
        roundabout.name = im Kreisverkehr die Ausfahrt {name:onto} nehmen
        roundabout.destination = im Kreisverkehr die Ausfahrt Richtung {destination} nehmen
        roundabout.nth = im Kreisverkehr die {nth} Ausfahrt nehmen
        roundabout.nth.name = im Kreisverkehr die {nth} Ausfahrt {name:onto} nehmen
        rotary = in den Kreisverkehr {rotary} fahren
        rotary.name = im Kreisverkehr {rotary} die Ausfahrt {name:onto} nehmen
        rotary.destination = im Kreisverkehr {rotary} die Ausfahrt Richtung {destination} nehmen
        rotary.nth = im Kreisverkehr {rotary} die {nth} Ausfahrt nehmen
        rotary.nth.name = im Kreisverkehr {rotary} die {nth} Ausfahrt {name:onto} nehmen
        roundabout turn.left = im Kreisverkehr links abbiegen
        roundabout turn.left.name = im Kreisverkehr links {name:onto} abbiegen
        roundabout turn.right = im Kreisverkehr rechts abbiegen
        roundabout turn.right.name = im Kreisverkehr rechts {name:onto} abbiegen
        roundabout turn.slight left = im Kreisverkehr leicht links abbiegen
        roundabout turn.slight left.name = im Kreisverkehr leicht links {name:onto} abbiegen
        roundabout turn.slight right = im Kreisverkehr leicht rechts abbiegen
        roundabout turn.slight right.name = im Kreisverkehr leicht rechts {name:onto} abbiegen
        roundabout turn.sharp left = im Kreisverkehr scharf links abbiegen
        roundabout turn.sharp left.name = im Kreisverkehr scharf links {name:onto} abbiegen
        roundabout turn.sharp right = im Kreisverkehr scharf rechts abbiegen
        roundabout turn.sharp right.name = im Kreisverkehr scharf rechts {name:onto} abbiegen
        roundabout turn.straight = im Kreisverkehr geradeaus fahren
        roundabout turn.straight.name = im Kreisverkehr geradeaus {name:onto} fahren
        roundabout turn.uturn = im Kreisverkehr wenden
        exit roundabout = den Kreisverkehr verlassen
        exit roundabout.name = den Kreisverkehr {name:onto} verlassen
        ordinal.other = {number}.

        notification = weiterfahren
        notification.leaves ferry = die Fähre verlassen
        notification.leaves ferry.name = die Fähre verlassen und {name:on} weiterfahren
        notification.toll road = Beginn der Mautstraße
        notification.toll booth = Mautstelle
        notification.tunnel = Tunnel von {distance:dative} Länge
        notification.border = Grenzübergang

        arrive = Ankunft am Ziel
        arrive.left = Ankunft am Ziel auf der linken Seite
        arrive.right = Ankunft am Ziel auf der rechten Seite
        arrive.waypoint = Ankunft bei {waypoint}
        arrive.left.waypoint = Ankunft bei {waypoint} auf der linken Seite
        arrive.right.waypoint = Ankunft bei {waypoint} auf der rechten Seite
        arrive.stop = Ankunft am Zwischenziel
        arrive.left.stop = Ankunft am Zwischenziel auf der linken Seite
        arrive.right.stop = Ankunft am Zwischenziel auf der rechten Seite
        arrived = Sie haben Ihr Ziel erreicht
        arrived.left = Sie haben Ihr Ziel erreicht, es liegt links
        arrived.right = Sie haben Ihr Ziel erreicht, es liegt rechts
        arrived.waypoint = Sie haben {waypoint} erreicht
        arrived.left.waypoint = Sie haben {waypoint} erreicht, auf der linken Seite
        arrived.right.waypoint = Sie haben {waypoint} erreicht, auf der rechten Seite
        arrived.stop = Sie haben Ihr Zwischenziel erreicht
        arrived.left.stop = Sie haben Ihr Zwischenziel erreicht, es liegt links
        arrived.right.stop = Sie haben Ihr Zwischenziel erreicht, es liegt rechts

        banner.exit = Ausfahrt
        banner.towards = Richtung {destination}
        """##,
        ##"""
        # British English: slip roads, junction numbers, the A7.

        [language]
        tag = en-GB
        base = en

        [names]
        reference = number

        [forms]
        the.number = the {}

        [phrases]
        on ramp = take the slip road
        on ramp.left = take the slip road on the left
        on ramp.right = take the slip road on the right
        on ramp.name = take the slip road onto {name:the}
        on ramp.left.name = take the slip road on the left onto {name:the}
        on ramp.destination = take the slip road towards {destination:the}
        on ramp.left.destination = take the slip road on the left towards {destination:the}
        off ramp.exit = at junction {exit}, take the exit
        off ramp.left.exit = at junction {exit}, take the exit on the left
        off ramp.right.exit = at junction {exit}, take the exit on the right
        off ramp.exit.name = at junction {exit}, take the exit onto {name:the}
        off ramp.left.exit.name = at junction {exit}, take the exit on the left onto {name:the}
        off ramp.right.exit.name = at junction {exit}, take the exit on the right onto {name:the}
        off ramp.exit.named = at junction {exit}, {junction}, take the exit
        off ramp.left.exit.named = at junction {exit}, {junction}, take the exit on the left
        off ramp.right.exit.named = at junction {exit}, {junction}, take the exit on the right
        exit roundabout = leave the roundabout
        exit roundabout.name = leave the roundabout onto {name:the}
        arrived.stop = you have reached your stop
        arrived.left.stop = you have reached your stop, on the left
        arrived.right.stop = you have reached your stop, on the right
        banner.exit = Junction
        """##,
        ##"""
        # American English: meters, toward, and road numbers as they are said.

        [language]
        tag = en-US
        base = en

        [numbers]
        I = Interstate
        US = US Route
        SR = State Route
        SH = State Highway
        CR = County Road
        CH = County Highway
        FM = Farm to Market Road
        AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY = State Route

        [phrases]
        sentence.destination = {instruction} toward {destination}
        distance.metre.one = {number} meter
        distance.metre.other = {number} meters
        distance.kilometre.one = {number} kilometer
        distance.kilometre.other = {number} kilometers
        distance.mile.0.25 = a quarter mile
        fork.slight left.destination = keep left toward {destination}
        fork.slight right.destination = keep right toward {destination}
        fork.straight.destination = go straight toward {destination}
        on ramp.destination = take the ramp toward {destination}
        on ramp.left.destination = take the ramp on the left toward {destination}
        roundabout.destination = at the roundabout, take the exit toward {destination}
        rotary.destination = at {rotary}, take the exit toward {destination}
        banner.towards = Toward {destination}
        """##,
        ##"""
        # English of no country: metres, ramps, towards.
        # Adding a language is adding a file; then run LanguageTests with NAVBUS_REWRITE=1.

        [language]
        tag = en
        singular = one
        decimal separator = .
        list separator = ", "
        capitals = yes
        characters per second = 15
        compass = north, northeast, east, southeast, south, southwest, west, northwest
        ordinals = first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth

        # Affixes are words before or after a name that distinguish parts of one street; those of all languages apply everywhere.
        # A ferry whose name says that it is one is not called so twice.
        [names]
        affixes = n, ne, e, se, s, sw, w, nw, north, south, west, east, nor, sou, we, ea, northeast, northwest, southeast, southwest
        first: ferry = ferry
        ending: ferry = ferry

        [forms]
        ferry = {} ferry
        ferry.ferry = {}

        [phrases]

        # Sentences around an instruction. An instruction has a phrase with destinations only where sentence.destination does not fit.
        sentence.distance = in {distance}, {instruction}
        sentence.then = {instruction}, then {next}
        sentence.junction = at {junction}, {instruction}
        sentence.destination = {instruction} towards {destination:the}
        sentence.continue = continue for {distance}
        sentence.continue.name = continue on {name:the} for {distance}

        # Distances: spoken, then displayed.
        distance.metre.one = {number} metre
        distance.metre.other = {number} metres
        distance.kilometre.one = {number} kilometre
        distance.kilometre.other = {number} kilometres
        distance.foot.one = {number} foot
        distance.foot.other = {number} feet
        distance.yard.one = {number} yard
        distance.yard.other = {number} yards
        distance.mile.0.25 = a quarter of a mile
        distance.mile.0.5 = half a mile
        distance.mile.0.75 = three quarters of a mile
        distance.mile.one = {number} mile
        distance.mile.other = {number} miles
        display.metre = {number} m
        display.kilometre = {number} km
        display.foot = {number} ft
        display.yard = {number} yd
        display.mile = {number} mi

        # Starting out.
        depart = head {direction}
        depart.name = head {direction} on {name:the}

        # Turns.
        turn.left = turn left
        turn.left.name = turn left onto {name:the}
        turn.right = turn right
        turn.right.name = turn right onto {name:the}
        turn.slight left = turn slightly left
        turn.slight left.name = turn slightly left onto {name:the}
        turn.slight right = turn slightly right
        turn.slight right.name = turn slightly right onto {name:the}
        turn.sharp left = make a sharp left
        turn.sharp left.name = make a sharp left onto {name:the}
        turn.sharp right = make a sharp right
        turn.sharp right.name = make a sharp right onto {name:the}
        turn.straight = go straight
        turn.straight.name = go straight onto {name:the}
        turn.uturn = make a U-turn
        turn.uturn.name = make a U-turn onto {name:the}
        turn.ferry = take the ferry
        turn.ferry.name = take the {name:ferry}

        # Staying on a road.
        continue.left.name = turn left to stay on {name:the}
        continue.right.name = turn right to stay on {name:the}
        continue.slight left = bear left
        continue.slight left.name = bear left to stay on {name:the}
        continue.slight right = bear right
        continue.slight right.name = bear right to stay on {name:the}
        continue.sharp left.name = make a sharp left to stay on {name:the}
        continue.sharp right.name = make a sharp right to stay on {name:the}
        continue.straight = continue straight
        continue.straight.name = continue straight on {name:the}
        continue.uturn = make a U-turn
        continue.uturn.name = make a U-turn and continue on {name:the}
        new name = continue straight
        new name.name = continue onto {name:the}

        # Forks and ends of roads.
        fork.slight left = keep left at the fork
        fork.slight left.name = keep left onto {name:the}
        fork.slight left.stay = keep left to stay on {name:the}
        fork.slight left.destination = keep left towards {destination:the}
        fork.slight right = keep right at the fork
        fork.slight right.name = keep right onto {name:the}
        fork.slight right.stay = keep right to stay on {name:the}
        fork.slight right.destination = keep right towards {destination:the}
        fork.straight = go straight at the fork
        fork.straight.name = go straight onto {name:the}
        fork.straight.stay = go straight to stay on {name:the}
        fork.straight.destination = go straight towards {destination:the}
        end of road.left = turn left at the end of the road
        end of road.left.name = at the end of the road, turn left onto {name:the}
        end of road.right = turn right at the end of the road
        end of road.right.name = at the end of the road, turn right onto {name:the}

        # Ramps.
        on ramp = take the ramp
        on ramp.left = take the ramp on the left
        on ramp.right = take the ramp on the right
        on ramp.name = take the ramp onto {name:the}
        on ramp.left.name = take the ramp on the left onto {name:the}
        on ramp.destination = take the ramp towards {destination:the}
        on ramp.left.destination = take the ramp on the left towards {destination:the}
        off ramp = take the exit
        off ramp.left = take the exit on the left
        off ramp.right = take the exit on the right
        off ramp.name = take the exit onto {name:the}
        off ramp.left.name = take the exit on the left onto {name:the}
        off ramp.right.name = take the exit on the right onto {name:the}
        off ramp.named = take the {junction} exit
        off ramp.left.named = take the {junction} exit on the left
        off ramp.right.named = take the {junction} exit on the right
        off ramp.exit = take exit {exit}
        off ramp.left.exit = take exit {exit} on the left
        off ramp.right.exit = take exit {exit} on the right
        off ramp.exit.name = take exit {exit} onto {name:the}
        off ramp.left.exit.name = take exit {exit} on the left onto {name:the}
        off ramp.right.exit.name = take exit {exit} on the right onto {name:the}
        off ramp.exit.named = take exit {exit}, {junction}
        off ramp.left.exit.named = take exit {exit}, {junction}, on the left
        off ramp.right.exit.named = take exit {exit}, {junction}, on the right
        merge = merge
        merge.slight left = merge left
        merge.slight right = merge right
        merge.name = merge onto {name:the}
        merge.slight left.name = merge left onto {name:the}
        merge.slight right.name = merge right onto {name:the}

        # Roundabouts.
        roundabout = enter the roundabout
        roundabout.name = at the roundabout, take the exit onto {name:the}
        roundabout.destination = at the roundabout, take the exit towards {destination:the}
        roundabout.nth = at the roundabout, take the {nth} exit
        roundabout.nth.name = at the roundabout, take the {nth} exit onto {name:the}
        rotary = enter {rotary}
        rotary.name = at {rotary}, take the exit onto {name:the}
        rotary.destination = at {rotary}, take the exit towards {destination:the}
        rotary.nth = at {rotary}, take the {nth} exit
        rotary.nth.name = at {rotary}, take the {nth} exit onto {name:the}
        roundabout turn.left = at the roundabout, turn left
        roundabout turn.left.name = at the roundabout, turn left onto {name:the}
        roundabout turn.right = at the roundabout, turn right
        roundabout turn.right.name = at the roundabout, turn right onto {name:the}
        roundabout turn.slight left = at the roundabout, turn slightly left
        roundabout turn.slight left.name = at the roundabout, turn slightly left onto {name:the}
        roundabout turn.slight right = at the roundabout, turn slightly right
        roundabout turn.slight right.name = at the roundabout, turn slightly right onto {name:the}
        roundabout turn.sharp left = at the roundabout, make a sharp left
        roundabout turn.sharp left.name = at the roundabout, make a sharp left onto {name:the}
        roundabout turn.sharp right = at the roundabout, make a sharp right
        roundabout turn.sharp right.name = at the roundabout, make a sharp right onto {name:the}
        roundabout turn.straight = at the roundabout, go straight
        roundabout turn.straight.name = at the roundabout, go straight onto {name:the}
        roundabout turn.uturn = make a U-turn at the roundabout
        exit roundabout = exit the roundabout
        exit roundabout.name = exit the roundabout onto {name:the}
        ordinal.other = {number}th

        # Notices.
        notification = continue
        notification.leaves ferry = leave the ferry
        notification.leaves ferry.name = leave the ferry and continue on {name:the}
        notification.toll road = start of the toll road
        notification.toll booth = toll booth
        notification.tunnel = tunnel of {distance}
        notification.border = border crossing

        # Arriving: still ahead, then there.
        arrive = you will arrive at your destination
        arrive.left = your destination will be on the left
        arrive.right = your destination will be on the right
        arrive.waypoint = you will arrive at {waypoint}
        arrive.left.waypoint = {waypoint} will be on the left
        arrive.right.waypoint = {waypoint} will be on the right
        arrive.stop = you will arrive at your next stop
        arrive.left.stop = your next stop will be on the left
        arrive.right.stop = your next stop will be on the right
        arrived = you have arrived at your destination
        arrived.left = you have arrived at your destination, on the left
        arrived.right = you have arrived at your destination, on the right
        arrived.waypoint = you have arrived at {waypoint}
        arrived.left.waypoint = you have arrived at {waypoint}, on the left
        arrived.right.waypoint = you have arrived at {waypoint}, on the right
        arrived.stop = you have arrived at your stop
        arrived.left.stop = you have arrived at your stop, on the left
        arrived.right.stop = you have arrived at your stop, on the right

        # Banners.
        banner.exit = Exit
        banner.towards = Towards {destination}
        """##,
        ##"""
        # Español: nombres de vías con artículo; «a el» se contrae en «al».

        [language]
        tag = es
        singular = one
        decimal separator = ","
        list separator = ", "
        capitals = yes
        characters per second = 14
        compass = norte, noreste, este, sureste, sur, suroeste, oeste, noroeste
        ordinals = primera, segunda, tercera, cuarta, quinta, sexta, séptima, octava, novena, décima

        # Lo que queda de «Avenida del Norte» sin su punto cardinal no es el nombre de ninguna calle.
        [names]
        affixes = norte, sur, este, oeste, noreste, nordeste, noroeste, sureste, sudeste, suroeste, sudoeste, oriente, poniente
        particles = de, del, la, el, los, las
        reference = number
        first: calle, avenida, carretera, plaza, autopista, autovía, ronda, vía, travesía, glorieta, rambla, cuesta, alameda = f
        first: carrera, calzada, costanilla, senda, circunvalación, variante, avinguda, plaça, rúa, urbanización = f
        first: rotonda, diagonal, subida, bajada, vereda, cañada = f
        first: gran = f name
        first: camino, paseo, bulevar, callejón, pasaje, puente, parque, túnel, viaducto, acceso, muelle, sendero = m
        first: ferry, transbordador = ferry
        first: carrer, passeig, camí, polígono, campo = m
        first: boulevard, periférico, anillo, circuito, eje, libramiento = m

        # the: con artículo; to: con «a» y artículo; ferry: el ferry, que a veces ya está en el nombre.
        [forms]
        the.number = la {}
        the.f = la {lower}
        the.f name = la {}
        the.m = el {lower}
        to = a {}
        to.number = a la {}
        to.f = a la {lower}
        to.f name = a la {}
        to.m = al {lower}
        ferry = el ferry {}
        ferry.ferry = el {lower}

        [phrases]
        sentence.distance = en {distance}, {instruction}
        sentence.then = {instruction}, luego {next}
        sentence.junction = en el cruce {junction}, {instruction}
        sentence.destination = {instruction} hacia {destination:the}
        sentence.continue = continúe durante {distance}
        sentence.continue.name = continúe por {name:the} durante {distance}

        distance.metre.one = {number} metro
        distance.metre.other = {number} metros
        distance.kilometre.1 = un kilómetro
        distance.kilometre.1.5 = un kilómetro y medio
        distance.kilometre.one = {number} kilómetro
        distance.kilometre.other = {number} kilómetros
        distance.foot.one = {number} pie
        distance.foot.other = {number} pies
        distance.yard.one = {number} yarda
        distance.yard.other = {number} yardas
        distance.mile.0.25 = un cuarto de milla
        distance.mile.0.5 = media milla
        distance.mile.0.75 = tres cuartos de milla
        distance.mile.1 = una milla
        distance.mile.one = {number} milla
        distance.mile.other = {number} millas
        display.metre = {number} m
        display.kilometre = {number} km
        display.foot = {number} pies
        display.yard = {number} yd
        display.mile = {number} mi

        depart = diríjase al {direction}
        depart.name = diríjase al {direction} por {name:the}

        turn.left = gire a la izquierda
        turn.left.name = gire a la izquierda en {name:the}
        turn.right = gire a la derecha
        turn.right.name = gire a la derecha en {name:the}
        turn.slight left = gire ligeramente a la izquierda
        turn.slight left.name = gire ligeramente a la izquierda en {name:the}
        turn.slight right = gire ligeramente a la derecha
        turn.slight right.name = gire ligeramente a la derecha en {name:the}
        turn.sharp left = haga un giro cerrado a la izquierda
        turn.sharp left.name = haga un giro cerrado a la izquierda en {name:the}
        turn.sharp right = haga un giro cerrado a la derecha
        turn.sharp right.name = haga un giro cerrado a la derecha en {name:the}
        turn.straight = siga recto
        turn.straight.name = siga recto por {name:the}
        turn.uturn = cambie de sentido
        turn.uturn.name = cambie de sentido en {name:the}
        turn.ferry = tome el ferry
        turn.ferry.name = tome {name:ferry}

        continue.left.name = gire a la izquierda para seguir por {name:the}
        continue.right.name = gire a la derecha para seguir por {name:the}
        continue.slight left = manténgase a la izquierda
        continue.slight left.name = manténgase a la izquierda para seguir por {name:the}
        continue.slight right = manténgase a la derecha
        continue.slight right.name = manténgase a la derecha para seguir por {name:the}
        continue.sharp left.name = haga un giro cerrado a la izquierda para seguir por {name:the}
        continue.sharp right.name = haga un giro cerrado a la derecha para seguir por {name:the}
        continue.straight = continúe recto
        continue.straight.name = continúe recto por {name:the}
        continue.uturn = cambie de sentido
        continue.uturn.name = cambie de sentido y continúe por {name:the}
        new name = continúe recto
        new name.name = continúe por {name:the}

        fork.slight left = manténgase a la izquierda en la bifurcación
        fork.slight left.name = manténgase a la izquierda para tomar {name:the}
        fork.slight left.stay = manténgase a la izquierda para seguir por {name:the}
        fork.slight left.destination = manténgase a la izquierda hacia {destination:the}
        fork.slight right = manténgase a la derecha en la bifurcación
        fork.slight right.name = manténgase a la derecha para tomar {name:the}
        fork.slight right.stay = manténgase a la derecha para seguir por {name:the}
        fork.slight right.destination = manténgase a la derecha hacia {destination:the}
        fork.straight = siga recto en la bifurcación
        fork.straight.name = siga recto por {name:the}
        fork.straight.stay = siga recto para continuar por {name:the}
        fork.straight.destination = siga recto hacia {destination:the}
        end of road.left = gire a la izquierda al final de la vía
        end of road.left.name = al final de la vía, gire a la izquierda en {name:the}
        end of road.right = gire a la derecha al final de la vía
        end of road.right.name = al final de la vía, gire a la derecha en {name:the}

        on ramp = tome el acceso
        on ramp.left = tome el acceso de la izquierda
        on ramp.right = tome el acceso de la derecha
        on ramp.name = tome el acceso {name:to}
        on ramp.left.name = tome el acceso de la izquierda {name:to}
        on ramp.destination = tome el acceso hacia {destination:the}
        on ramp.left.destination = tome el acceso de la izquierda hacia {destination:the}
        off ramp = tome la salida
        off ramp.left = tome la salida de la izquierda
        off ramp.right = tome la salida de la derecha
        off ramp.name = tome la salida hacia {name:the}
        off ramp.left.name = tome la salida de la izquierda hacia {name:the}
        off ramp.right.name = tome la salida de la derecha hacia {name:the}
        off ramp.named = tome la salida {junction}
        off ramp.left.named = tome la salida {junction} a la izquierda
        off ramp.right.named = tome la salida {junction} a la derecha
        off ramp.exit = tome la salida {exit}
        off ramp.left.exit = tome la salida {exit} a la izquierda
        off ramp.right.exit = tome la salida {exit} a la derecha
        off ramp.exit.name = tome la salida {exit} hacia {name:the}
        off ramp.left.exit.name = tome la salida {exit} a la izquierda hacia {name:the}
        off ramp.right.exit.name = tome la salida {exit} a la derecha hacia {name:the}
        off ramp.exit.named = tome la salida {exit}, {junction}
        off ramp.left.exit.named = tome la salida {exit}, {junction}, a la izquierda
        off ramp.right.exit.named = tome la salida {exit}, {junction}, a la derecha
        merge = incorpórese a la vía
        merge.slight left = incorpórese por la izquierda
        merge.slight right = incorpórese por la derecha
        merge.name = incorpórese {name:to}
        merge.slight left.name = incorpórese por la izquierda {name:to}
        merge.slight right.name = incorpórese por la derecha {name:to}

        roundabout = entre en la rotonda
        roundabout.name = en la rotonda, tome la salida hacia {name:the}
        roundabout.destination = en la rotonda, tome la salida hacia {destination:the}
        roundabout.nth = en la rotonda, tome la {nth} salida
        roundabout.nth.name = en la rotonda, tome la {nth} salida hacia {name:the}
        rotary = entre en {rotary:the}
        rotary.name = en {rotary:the}, tome la salida hacia {name:the}
        rotary.destination = en {rotary:the}, tome la salida hacia {destination:the}
        rotary.nth = en {rotary:the}, tome la {nth} salida
        rotary.nth.name = en {rotary:the}, tome la {nth} salida hacia {name:the}
        roundabout turn.left = en la rotonda, gire a la izquierda
        roundabout turn.left.name = en la rotonda, gire a la izquierda en {name:the}
        roundabout turn.right = en la rotonda, gire a la derecha
        roundabout turn.right.name = en la rotonda, gire a la derecha en {name:the}
        roundabout turn.slight left = en la rotonda, gire ligeramente a la izquierda
        roundabout turn.slight left.name = en la rotonda, gire ligeramente a la izquierda en {name:the}
        roundabout turn.slight right = en la rotonda, gire ligeramente a la derecha
        roundabout turn.slight right.name = en la rotonda, gire ligeramente a la derecha en {name:the}
        roundabout turn.sharp left = en la rotonda, haga un giro cerrado a la izquierda
        roundabout turn.sharp left.name = en la rotonda, haga un giro cerrado a la izquierda en {name:the}
        roundabout turn.sharp right = en la rotonda, haga un giro cerrado a la derecha
        roundabout turn.sharp right.name = en la rotonda, haga un giro cerrado a la derecha en {name:the}
        roundabout turn.straight = en la rotonda, siga recto
        roundabout turn.straight.name = en la rotonda, siga recto por {name:the}
        roundabout turn.uturn = cambie de sentido en la rotonda
        exit roundabout = salga de la rotonda
        exit roundabout.name = salga de la rotonda hacia {name:the}
        ordinal.other = {number}.ª

        notification = continúe
        notification.leaves ferry = salga del ferry
        notification.leaves ferry.name = salga del ferry y continúe por {name:the}
        notification.toll road = comienzo de la vía de peaje
        notification.toll booth = puesto de peaje
        notification.tunnel = túnel de {distance}
        notification.border = paso fronterizo

        arrive = llegará a su destino
        arrive.left = su destino estará a la izquierda
        arrive.right = su destino estará a la derecha
        arrive.waypoint = alcanzará {waypoint}
        arrive.left.waypoint = {waypoint} estará a la izquierda
        arrive.right.waypoint = {waypoint} estará a la derecha
        arrive.stop = llegará a su próxima parada
        arrive.left.stop = su próxima parada estará a la izquierda
        arrive.right.stop = su próxima parada estará a la derecha
        arrived = ha llegado a su destino
        arrived.left = ha llegado a su destino, a la izquierda
        arrived.right = ha llegado a su destino, a la derecha
        arrived.waypoint = ha alcanzado {waypoint}
        arrived.left.waypoint = ha alcanzado {waypoint}, a la izquierda
        arrived.right.waypoint = ha alcanzado {waypoint}, a la derecha
        arrived.stop = ha llegado a su parada
        arrived.left.stop = ha llegado a su parada, a la izquierda
        arrived.right.stop = ha llegado a su parada, a la derecha

        banner.exit = Salida
        banner.towards = Hacia {destination}
        """##,
        ##"""
        # Suomi: kadunnimet taipuvat loppuosansa mukaan, matkat genetiivissä ja partitiivissa.

        [language]
        tag = fi
        singular = one
        decimal separator = ","
        list separator = ", "
        capitals = yes
        characters per second = 14
        compass = pohjoiseen, koilliseen, itään, kaakkoon, etelään, lounaaseen, länteen, luoteeseen
        ordinals = ensimmäisestä, toisesta, kolmannesta, neljännestä, viidennestä, kuudennesta, seitsemännestä, kahdeksannesta, yhdeksännestä, kymmenennestä

        # No affixes: Itäinen Rantakatu and Läntinen Rantakatu are two streets, not two parts of one.
        [names]
        reference = number
        # Adjectives are inflected too, and the name is told in its basic form instead.
        first: pohjoinen, eteläinen, itäinen, läntinen, keskinen, ylinen, alinen, ulompi, sisempi = adjective
        first: ensimmäinen, toinen, kolmas, ylempi, alempi = adjective
        first: vanha, uusi, iso, pieni, suuri, pitkä, vähä = adjective
        # Both parts are inflected.
        first: pitkäsilta = pitkäsilta
        ending: katu = katu
        ending: tie = tie
        ending: kuja = kuja
        ending: polku = polku
        ending: väylä = väylä
        ending: ranta = ranta
        ending: tori = tori
        ending: aukio = aukio
        ending: kaari = kaari
        ending: silta = silta
        ending: rinne = rinne
        ending: raitti = raitti
        ending: mäki = mäki
        ending: puistikko = puistikko
        ending: reitti = reitti
        ending: portti = portti
        ending: esplanadi, bulevardi, laituri = i
        ending: penger = penger
        ending: ura = ura
        ending: laita = laita
        ending: harju = harju
        ending: niitty = niitty
        ending: lautta = lautta
        ending: lossi = lossi

        # onto: mihin; on: missä; along: mitä pitkin; ferry: mille lautalle.
        [forms]
        onto = tielle {}
        onto.number = tielle {}
        onto.adjective = tielle {}
        onto.katu = {stem}kadulle
        onto.tie = {stem}tielle
        onto.kuja = {stem}kujalle
        onto.polku = {stem}polulle
        onto.väylä = {stem}väylälle
        onto.ranta = {stem}rannalle
        onto.tori = {stem}torille
        onto.aukio = {stem}aukiolle
        onto.kaari = {stem}kaarelle
        onto.pitkäsilta = Pitkällesillalle
        onto.silta = {stem}sillalle
        onto.rinne = {stem}rinteelle
        onto.raitti = {stem}raitille
        onto.mäki = {stem}mäelle
        onto.puistikko = {stem}puistikolle
        onto.i = {}lle
        onto.reitti = {stem}reitille
        onto.portti = {stem}portille
        onto.penger = {stem}penkereelle
        onto.ura = {stem}uralle
        onto.laita = {stem}laidalle
        onto.harju = {stem}harjulle
        onto.niitty = {stem}niitylle
        on = tiellä {}
        on.number = tiellä {}
        on.adjective = tiellä {}
        on.katu = {stem}kadulla
        on.tie = {stem}tiellä
        on.kuja = {stem}kujalla
        on.polku = {stem}polulla
        on.väylä = {stem}väylällä
        on.ranta = {stem}rannalla
        on.tori = {stem}torilla
        on.aukio = {stem}aukiolla
        on.kaari = {stem}kaarella
        on.pitkäsilta = Pitkälläsillalla
        on.silta = {stem}sillalla
        on.rinne = {stem}rinteellä
        on.raitti = {stem}raitilla
        on.mäki = {stem}mäellä
        on.puistikko = {stem}puistikolla
        on.i = {}lla
        on.reitti = {stem}reitillä
        on.portti = {stem}portilla
        on.penger = {stem}penkereellä
        on.ura = {stem}uralla
        on.laita = {stem}laidalla
        on.harju = {stem}harjulla
        on.niitty = {stem}niityllä
        along = tietä {}
        along.number = tietä {}
        along.adjective = tietä {}
        along.i = {}a
        along.katu = {stem}katua
        along.tie = {stem}tietä
        along.kuja = {stem}kujaa
        along.polku = {stem}polkua
        along.väylä = {stem}väylää
        along.ranta = {stem}rantaa
        along.tori = {stem}toria
        along.aukio = {stem}aukiota
        along.kaari = {stem}kaarta
        along.pitkäsilta = Pitkääsiltaa
        along.silta = {stem}siltaa
        along.rinne = {stem}rinnettä
        along.raitti = {stem}raittia
        along.mäki = {stem}mäkeä
        along.puistikko = {stem}puistikkoa
        along.reitti = {stem}reittiä
        along.portti = {stem}porttia
        along.penger = {stem}pengertä
        along.ura = {stem}uraa
        along.laita = {stem}laitaa
        along.harju = {stem}harjua
        along.niitty = {stem}niittyä
        ferry = lautalle {}
        ferry.lautta = {stem}lautalle
        ferry.lossi = {}lle

        [phrases]
        sentence.distance = {distance:genitive} päästä {instruction}
        sentence.then = {instruction}, sitten {next}
        sentence.junction = risteyksessä {junction} {instruction}
        sentence.destination = {instruction}, suuntana {destination}
        sentence.continue = jatka {distance}
        sentence.continue.name = jatka {distance} {name:along}

        distance.metre.one = {number} metri
        distance.metre.other = {number} metriä
        distance.metre.genitive.one = {number} metrin
        distance.metre.genitive.other = {number} metrin
        distance.kilometre.1 = kilometri
        distance.kilometre.1.5 = puolitoista kilometriä
        distance.kilometre.one = {number} kilometri
        distance.kilometre.other = {number} kilometriä
        distance.kilometre.genitive.1 = kilometrin
        distance.kilometre.genitive.1.5 = puolentoista kilometrin
        distance.kilometre.genitive.other = {number} kilometrin
        distance.foot.one = {number} jalka
        distance.foot.other = {number} jalkaa
        distance.foot.genitive.one = {number} jalan
        distance.foot.genitive.other = {number} jalan
        distance.yard.one = {number} jaardi
        distance.yard.other = {number} jaardia
        distance.yard.genitive.one = {number} jaardin
        distance.yard.genitive.other = {number} jaardin
        distance.mile.0.25 = neljännesmaili
        distance.mile.0.5 = puoli mailia
        distance.mile.0.75 = kolme neljännesmailia
        distance.mile.1 = maili
        distance.mile.one = {number} maili
        distance.mile.other = {number} mailia
        distance.mile.genitive.0.25 = neljännesmailin
        distance.mile.genitive.0.5 = puolen mailin
        distance.mile.genitive.0.75 = kolmen neljännesmailin
        distance.mile.genitive.1 = mailin
        distance.mile.genitive.other = {number} mailin
        display.metre = {number} m
        display.kilometre = {number} km
        display.foot = {number} jalkaa
        display.yard = {number} jaardia
        display.mile = {number} mi

        depart = aja {direction}
        depart.name = aja {name:along} {direction}

        turn.left = käänny vasemmalle
        turn.left.name = käänny vasemmalle {name:onto}
        turn.right = käänny oikealle
        turn.right.name = käänny oikealle {name:onto}
        turn.slight left = käänny loivasti vasemmalle
        turn.slight left.name = käänny loivasti vasemmalle {name:onto}
        turn.slight right = käänny loivasti oikealle
        turn.slight right.name = käänny loivasti oikealle {name:onto}
        turn.sharp left = käänny jyrkästi vasemmalle
        turn.sharp left.name = käänny jyrkästi vasemmalle {name:onto}
        turn.sharp right = käänny jyrkästi oikealle
        turn.sharp right.name = käänny jyrkästi oikealle {name:onto}
        turn.straight = aja suoraan
        turn.straight.name = aja suoraan {name:onto}
        turn.uturn = tee U-käännös
        turn.uturn.name = tee U-käännös {name:onto}
        turn.ferry = aja lautalle
        turn.ferry.name = aja {name:ferry}

        continue.left.name = käänny vasemmalle ja pysy {name:on}
        continue.right.name = käänny oikealle ja pysy {name:on}
        continue.slight left = pysy vasemmalla
        continue.slight left.name = pysy vasemmalla ja jatka {name:along}
        continue.slight right = pysy oikealla
        continue.slight right.name = pysy oikealla ja jatka {name:along}
        continue.sharp left.name = käänny jyrkästi vasemmalle ja pysy {name:on}
        continue.sharp right.name = käänny jyrkästi oikealle ja pysy {name:on}
        continue.straight = jatka suoraan
        continue.straight.name = jatka suoraan {name:along}
        continue.uturn = tee U-käännös
        continue.uturn.name = tee U-käännös ja jatka {name:along}
        new name = jatka suoraan
        new name.name = jatka {name:onto}

        fork.slight left = pysy vasemmalla tienhaarassa
        fork.slight left.name = jatka vasemmalle {name:onto}
        fork.slight left.stay = pysy vasemmalla ja jatka {name:along}
        fork.slight left.destination = pysy vasemmalla, suuntana {destination}
        fork.slight right = pysy oikealla tienhaarassa
        fork.slight right.name = jatka oikealle {name:onto}
        fork.slight right.stay = pysy oikealla ja jatka {name:along}
        fork.slight right.destination = pysy oikealla, suuntana {destination}
        fork.straight = aja tienhaarassa suoraan
        fork.straight.name = aja suoraan {name:onto}
        fork.straight.stay = aja suoraan ja pysy {name:on}
        fork.straight.destination = aja suoraan, suuntana {destination}
        end of road.left = käänny tien päässä vasemmalle
        end of road.left.name = käänny tien päässä vasemmalle {name:onto}
        end of road.right = käänny tien päässä oikealle
        end of road.right.name = käänny tien päässä oikealle {name:onto}

        on ramp = aja rampille
        on ramp.left = aja vasemmanpuoleiselle rampille
        on ramp.right = aja oikeanpuoleiselle rampille
        on ramp.name = aja ramppia {name:onto}
        on ramp.left.name = aja vasemmanpuoleista ramppia {name:onto}
        on ramp.destination = aja rampille, suuntana {destination}
        on ramp.left.destination = aja vasemmanpuoleiselle rampille, suuntana {destination}
        off ramp = poistu liittymästä
        off ramp.left = poistu vasemmalla olevasta liittymästä
        off ramp.right = poistu oikealla olevasta liittymästä
        off ramp.name = poistu liittymästä {name:onto}
        off ramp.left.name = poistu vasemmalla olevasta liittymästä {name:onto}
        off ramp.right.name = poistu oikealla olevasta liittymästä {name:onto}
        off ramp.named = poistu liittymästä {junction}
        off ramp.left.named = poistu vasemmalla olevasta liittymästä {junction}
        off ramp.right.named = poistu oikealla olevasta liittymästä {junction}
        off ramp.exit = poistu liittymästä {exit}
        off ramp.left.exit = poistu vasemmalla olevasta liittymästä {exit}
        off ramp.right.exit = poistu oikealla olevasta liittymästä {exit}
        off ramp.exit.name = poistu liittymästä {exit} {name:onto}
        off ramp.left.exit.name = poistu vasemmalla olevasta liittymästä {exit} {name:onto}
        off ramp.right.exit.name = poistu oikealla olevasta liittymästä {exit} {name:onto}
        off ramp.exit.named = poistu liittymästä {exit}, {junction}
        off ramp.left.exit.named = poistu vasemmalla olevasta liittymästä {exit}, {junction}
        off ramp.right.exit.named = poistu oikealla olevasta liittymästä {exit}, {junction}
        merge = liity liikenteeseen
        merge.slight left = liity vasemmalle
        merge.slight right = liity oikealle
        merge.name = liity {name:onto}
        merge.slight left.name = liity vasemmalle {name:onto}
        merge.slight right.name = liity oikealle {name:onto}

        roundabout = aja liikenneympyrään
        roundabout.name = poistu liikenneympyrästä {name:onto}
        roundabout.destination = poistu liikenneympyrästä, suuntana {destination}
        roundabout.nth = liikenneympyrässä poistu {nth} liittymästä
        roundabout.nth.name = liikenneympyrässä poistu {nth} liittymästä {name:onto}
        rotary = aja liikenneympyrään {rotary}
        rotary.name = liikenneympyrässä {rotary} poistu {name:onto}
        rotary.destination = poistu liikenneympyrästä {rotary}, suuntana {destination}
        rotary.nth = liikenneympyrässä {rotary} poistu {nth} liittymästä
        rotary.nth.name = liikenneympyrässä {rotary} poistu {nth} liittymästä {name:onto}
        roundabout turn.left = käänny liikenneympyrässä vasemmalle
        roundabout turn.left.name = käänny liikenneympyrässä vasemmalle {name:onto}
        roundabout turn.right = käänny liikenneympyrässä oikealle
        roundabout turn.right.name = käänny liikenneympyrässä oikealle {name:onto}
        roundabout turn.slight left = käänny liikenneympyrässä loivasti vasemmalle
        roundabout turn.slight left.name = käänny liikenneympyrässä loivasti vasemmalle {name:onto}
        roundabout turn.slight right = käänny liikenneympyrässä loivasti oikealle
        roundabout turn.slight right.name = käänny liikenneympyrässä loivasti oikealle {name:onto}
        roundabout turn.sharp left = käänny liikenneympyrässä jyrkästi vasemmalle
        roundabout turn.sharp left.name = käänny liikenneympyrässä jyrkästi vasemmalle {name:onto}
        roundabout turn.sharp right = käänny liikenneympyrässä jyrkästi oikealle
        roundabout turn.sharp right.name = käänny liikenneympyrässä jyrkästi oikealle {name:onto}
        roundabout turn.straight = aja liikenneympyrässä suoraan
        roundabout turn.straight.name = aja liikenneympyrässä suoraan {name:onto}
        roundabout turn.uturn = tee U-käännös liikenneympyrässä
        exit roundabout = poistu liikenneympyrästä
        exit roundabout.name = poistu liikenneympyrästä {name:onto}
        ordinal.other = {number}.

        notification = jatka
        notification.leaves ferry = poistu lautalta
        notification.leaves ferry.name = poistu lautalta ja jatka {name:along}
        notification.toll road = maksullinen tie alkaa
        notification.toll booth = tietulliasema
        notification.tunnel = {distance:genitive} tunneli
        notification.border = rajanylityspaikka

        arrive = saavut määränpäähän
        arrive.left = määränpää on vasemmalla
        arrive.right = määränpää on oikealla
        arrive.waypoint = saavut kohteeseen {waypoint}
        arrive.left.waypoint = {waypoint} on vasemmalla
        arrive.right.waypoint = {waypoint} on oikealla
        arrive.stop = saavut seuraavaan pysähdyspaikkaan
        arrive.left.stop = seuraava pysähdyspaikka on vasemmalla
        arrive.right.stop = seuraava pysähdyspaikka on oikealla
        arrived = olet saapunut määränpäähän
        arrived.left = olet saapunut määränpäähän, se on vasemmalla
        arrived.right = olet saapunut määränpäähän, se on oikealla
        arrived.waypoint = olet saapunut kohteeseen {waypoint}
        arrived.left.waypoint = olet saapunut kohteeseen {waypoint}, se on vasemmalla
        arrived.right.waypoint = olet saapunut kohteeseen {waypoint}, se on oikealla
        arrived.stop = olet saapunut pysähdyspaikkaan
        arrived.left.stop = olet saapunut pysähdyspaikkaan, se on vasemmalla
        arrived.right.stop = olet saapunut pysähdyspaikkaan, se on oikealla

        banner.exit = Liittymä
        banner.towards = Suunta {destination}
        """##,
        ##"""
        # Français : noms de voies avec article, élision et préposition.

        [language]
        tag = fr
        singular = below-two
        decimal separator = ","
        list separator = ", "
        capitals = yes
        characters per second = 14
        compass = le nord, le nord-est, l'est, le sud-est, le sud, le sud-ouest, l'ouest, le nord-ouest
        ordinals = première, deuxième, troisième, quatrième, cinquième, sixième, septième, huitième, neuvième, dixième

        # Ce qui reste de « Rue du Nord » sans son point cardinal n'est le nom d'aucune rue.
        [names]
        affixes = nord, sud, est, ouest, nord-est, nord-ouest, sud-est, sud-ouest
        particles = de, du, des, le, la, les
        reference: A, E, I, O, U = number vowel
        reference = number
        first: rue, ruelle, venelle, cour, cité, résidence, traverse, sente = dans la
        first: grande, grand-rue, grand'rue, grand’rue = dans la name
        first: grand-place = la name
        first: place, route, voie, rocade, promenade, chaussée, montée, côte, rampe, rive, levée, bretelle, nationale, départementale = la
        first: corniche, digue, déviation, drève = la
        first: allées, quais = les
        first: avenue, autoroute, esplanade = vowel
        first: allée, impasse = dans vowel
        first: boulevard, quai, pont, cours, mail, rond-point, périphérique, tunnel, viaduc, faubourg, rempart, carrefour, giratoire = le
        first: ferry, bac, traversier = ferry
        first: chemin, passage, sentier, square, clos, lotissement, hameau, parvis = dans le

        # onto : où l'on tourne ; the : avec l'article ; ferry : le ferry, que son nom désigne déjà parfois.
        [forms]
        onto = sur {}
        onto.number = sur la {}
        onto.number vowel = sur l'{}
        onto.vowel = sur l'{lower}
        onto.la = sur la {lower}
        onto.la name = sur la {}
        onto.le = sur le {lower}
        onto.les = sur les {lower}
        onto.dans la = dans la {lower}
        onto.dans la name = dans la {}
        onto.dans le = dans le {lower}
        onto.dans vowel = dans l'{lower}
        the = {}
        the.number = la {}
        the.number vowel = l'{}
        the.vowel = l'{lower}
        the.la = la {lower}
        the.la name = la {}
        the.le = le {lower}
        the.les = les {lower}
        the.dans la = la {lower}
        the.dans la name = la {}
        the.dans le = le {lower}
        the.dans vowel = l'{lower}
        ferry = le ferry {}
        ferry.ferry = le {lower}

        [phrases]
        sentence.distance = dans {distance}, {instruction}
        sentence.then = {instruction}, puis {next}
        sentence.junction = au carrefour {junction}, {instruction}
        sentence.destination = {instruction}, direction {destination}
        sentence.continue = continuez pendant {distance}
        sentence.continue.name = continuez sur {name:the} pendant {distance}

        distance.metre.one = {number} mètre
        distance.metre.other = {number} mètres
        distance.kilometre.1 = un kilomètre
        distance.kilometre.1.5 = un kilomètre et demi
        distance.kilometre.one = {number} kilomètre
        distance.kilometre.other = {number} kilomètres
        distance.foot.one = {number} pied
        distance.foot.other = {number} pieds
        distance.yard.one = {number} yard
        distance.yard.other = {number} yards
        distance.mile.0.25 = un quart de mile
        distance.mile.0.5 = un demi-mile
        distance.mile.0.75 = trois quarts de mile
        distance.mile.1 = un mile
        distance.mile.one = {number} mile
        distance.mile.other = {number} miles
        display.metre = {number} m
        display.kilometre = {number} km
        display.foot = {number} pi
        display.yard = {number} yd
        display.mile = {number} mi

        depart = dirigez-vous vers {direction}
        depart.name = dirigez-vous vers {direction} sur {name:the}

        turn.left = tournez à gauche
        turn.left.name = tournez à gauche {name:onto}
        turn.right = tournez à droite
        turn.right.name = tournez à droite {name:onto}
        turn.slight left = tournez légèrement à gauche
        turn.slight left.name = tournez légèrement à gauche {name:onto}
        turn.slight right = tournez légèrement à droite
        turn.slight right.name = tournez légèrement à droite {name:onto}
        turn.sharp left = tournez franchement à gauche
        turn.sharp left.name = tournez franchement à gauche {name:onto}
        turn.sharp right = tournez franchement à droite
        turn.sharp right.name = tournez franchement à droite {name:onto}
        turn.straight = allez tout droit
        turn.straight.name = allez tout droit {name:onto}
        turn.uturn = faites demi-tour
        turn.uturn.name = faites demi-tour {name:onto}
        turn.ferry = prenez le ferry
        turn.ferry.name = prenez {name:ferry}

        continue.left.name = tournez à gauche pour rester sur {name:the}
        continue.right.name = tournez à droite pour rester sur {name:the}
        continue.slight left = serrez à gauche
        continue.slight left.name = serrez à gauche pour rester sur {name:the}
        continue.slight right = serrez à droite
        continue.slight right.name = serrez à droite pour rester sur {name:the}
        continue.sharp left.name = tournez franchement à gauche pour rester sur {name:the}
        continue.sharp right.name = tournez franchement à droite pour rester sur {name:the}
        continue.straight = continuez tout droit
        continue.straight.name = continuez tout droit sur {name:the}
        continue.uturn = faites demi-tour
        continue.uturn.name = faites demi-tour et continuez sur {name:the}
        new name = continuez tout droit
        new name.name = continuez sur {name:the}

        fork.slight left = serrez à gauche à l'embranchement
        fork.slight left.name = serrez à gauche {name:onto}
        fork.slight left.stay = serrez à gauche pour rester sur {name:the}
        fork.slight left.destination = serrez à gauche, direction {destination}
        fork.slight right = serrez à droite à l'embranchement
        fork.slight right.name = serrez à droite {name:onto}
        fork.slight right.stay = serrez à droite pour rester sur {name:the}
        fork.slight right.destination = serrez à droite, direction {destination}
        fork.straight = allez tout droit à l'embranchement
        fork.straight.name = allez tout droit {name:onto}
        fork.straight.stay = allez tout droit pour rester sur {name:the}
        fork.straight.destination = allez tout droit, direction {destination}
        end of road.left = tournez à gauche au bout de la route
        end of road.left.name = au bout de la route, tournez à gauche {name:onto}
        end of road.right = tournez à droite au bout de la route
        end of road.right.name = au bout de la route, tournez à droite {name:onto}

        on ramp = prenez la bretelle
        on ramp.left = prenez la bretelle à gauche
        on ramp.right = prenez la bretelle à droite
        on ramp.name = prenez la bretelle vers {name:the}
        on ramp.left.name = prenez la bretelle à gauche vers {name:the}
        on ramp.destination = prenez la bretelle, direction {destination}
        on ramp.left.destination = prenez la bretelle à gauche, direction {destination}
        off ramp = prenez la sortie
        off ramp.left = prenez la sortie à gauche
        off ramp.right = prenez la sortie à droite
        off ramp.name = prenez la sortie vers {name:the}
        off ramp.left.name = prenez la sortie à gauche vers {name:the}
        off ramp.right.name = prenez la sortie à droite vers {name:the}
        off ramp.named = prenez la sortie {junction}
        off ramp.left.named = prenez la sortie {junction} à gauche
        off ramp.right.named = prenez la sortie {junction} à droite
        off ramp.exit = prenez la sortie {exit}
        off ramp.left.exit = prenez la sortie {exit} à gauche
        off ramp.right.exit = prenez la sortie {exit} à droite
        off ramp.exit.name = prenez la sortie {exit} vers {name:the}
        off ramp.left.exit.name = prenez la sortie {exit} à gauche vers {name:the}
        off ramp.right.exit.name = prenez la sortie {exit} à droite vers {name:the}
        off ramp.exit.named = prenez la sortie {exit}, {junction}
        off ramp.left.exit.named = prenez la sortie {exit}, {junction}, à gauche
        off ramp.right.exit.named = prenez la sortie {exit}, {junction}, à droite
        merge = insérez-vous dans la circulation
        merge.slight left = insérez-vous à gauche
        merge.slight right = insérez-vous à droite
        merge.name = insérez-vous sur {name:the}
        merge.slight left.name = insérez-vous à gauche sur {name:the}
        merge.slight right.name = insérez-vous à droite sur {name:the}

        roundabout = engagez-vous dans le rond-point
        roundabout.name = au rond-point, prenez la sortie vers {name:the}
        roundabout.destination = au rond-point, prenez la sortie, direction {destination}
        roundabout.nth = au rond-point, prenez la {nth} sortie
        roundabout.nth.name = au rond-point, prenez la {nth} sortie vers {name:the}
        rotary = engagez-vous sur {rotary:the}
        rotary.name = sur {rotary:the}, prenez la sortie vers {name:the}
        rotary.destination = sur {rotary:the}, prenez la sortie, direction {destination}
        rotary.nth = sur {rotary:the}, prenez la {nth} sortie
        rotary.nth.name = sur {rotary:the}, prenez la {nth} sortie vers {name:the}
        roundabout turn.left = au rond-point, tournez à gauche
        roundabout turn.left.name = au rond-point, tournez à gauche {name:onto}
        roundabout turn.right = au rond-point, tournez à droite
        roundabout turn.right.name = au rond-point, tournez à droite {name:onto}
        roundabout turn.slight left = au rond-point, tournez légèrement à gauche
        roundabout turn.slight left.name = au rond-point, tournez légèrement à gauche {name:onto}
        roundabout turn.slight right = au rond-point, tournez légèrement à droite
        roundabout turn.slight right.name = au rond-point, tournez légèrement à droite {name:onto}
        roundabout turn.sharp left = au rond-point, tournez franchement à gauche
        roundabout turn.sharp left.name = au rond-point, tournez franchement à gauche {name:onto}
        roundabout turn.sharp right = au rond-point, tournez franchement à droite
        roundabout turn.sharp right.name = au rond-point, tournez franchement à droite {name:onto}
        roundabout turn.straight = au rond-point, allez tout droit
        roundabout turn.straight.name = au rond-point, allez tout droit {name:onto}
        roundabout turn.uturn = faites demi-tour au rond-point
        exit roundabout = quittez le rond-point
        exit roundabout.name = quittez le rond-point vers {name:the}
        ordinal.other = {number}e

        notification = continuez
        notification.leaves ferry = quittez le ferry
        notification.leaves ferry.name = quittez le ferry et continuez sur {name:the}
        notification.toll road = début de la route à péage
        notification.toll booth = poste de péage
        notification.tunnel = tunnel sur {distance}
        notification.border = passage de la frontière

        arrive = vous arriverez à destination
        arrive.left = votre destination sera sur la gauche
        arrive.right = votre destination sera sur la droite
        arrive.waypoint = vous atteindrez {waypoint}
        arrive.left.waypoint = {waypoint} sera sur la gauche
        arrive.right.waypoint = {waypoint} sera sur la droite
        arrive.stop = vous arriverez à la prochaine étape
        arrive.left.stop = la prochaine étape sera sur la gauche
        arrive.right.stop = la prochaine étape sera sur la droite
        arrived = vous êtes arrivé à destination
        arrived.left = vous êtes arrivé à destination, sur la gauche
        arrived.right = vous êtes arrivé à destination, sur la droite
        arrived.waypoint = vous avez atteint {waypoint}
        arrived.left.waypoint = vous avez atteint {waypoint}, sur la gauche
        arrived.right.waypoint = vous avez atteint {waypoint}, sur la droite
        arrived.stop = vous êtes arrivé à votre étape
        arrived.left.stop = vous êtes arrivé à votre étape, sur la gauche
        arrived.right.stop = vous êtes arrivé à votre étape, sur la droite

        banner.exit = Sortie
        banner.towards = Direction {destination}
        """##,
        ##"""
        # 简体中文

        [language]
        tag = zh-Hans
        covers = zh, zh-CN, zh-SG, cmn-Hans
        excepts = zh-Hant, zh-TW, zh-HK, zh-MO
        names = zh-Hans, zh
        script = Han
        singular = never
        decimal separator = .
        list separator = 、
        capitals = no
        characters per second = 4.5
        compass = 北, 东北, 东, 东南, 南, 西南, 西, 西北
        ordinals = 第一个, 第二个, 第三个, 第四个, 第五个, 第六个, 第七个, 第八个, 第九个, 第十个

        # 没有 affixes：中山北路和中山南路是各自的路名。
        # 名称中已有“渡轮”等字样时不再重复。
        [names]
        ending: 渡轮, 轮渡, 汽渡 = ferry

        [forms]
        ferry = {}渡轮
        ferry.ferry = {}

        [phrases]
        sentence.distance = {distance}后，{instruction}
        sentence.then = {instruction}，然后{next}
        sentence.junction = 在{junction}{instruction}
        sentence.destination = {instruction}，往{destination}方向
        sentence.continue = 继续行驶{distance}
        sentence.continue.name = 沿{name}继续行驶{distance}

        distance.metre.other = {number}米
        distance.kilometre.other = {number}公里
        distance.foot.other = {number}英尺
        distance.yard.other = {number}码
        distance.mile.0.25 = 四分之一英里
        distance.mile.0.5 = 半英里
        distance.mile.0.75 = 四分之三英里
        distance.mile.other = {number}英里
        display.metre = {number}米
        display.kilometre = {number}公里
        display.foot = {number}英尺
        display.yard = {number}码
        display.mile = {number}英里

        depart = 向{direction}行驶
        depart.name = 沿{name}向{direction}行驶

        turn.left = 左转
        turn.left.name = 左转进入{name}
        turn.right = 右转
        turn.right.name = 右转进入{name}
        turn.slight left = 向左前方行驶
        turn.slight left.name = 向左前方行驶，进入{name}
        turn.slight right = 向右前方行驶
        turn.slight right.name = 向右前方行驶，进入{name}
        turn.sharp left = 向左后方转弯
        turn.sharp left.name = 向左后方转弯，进入{name}
        turn.sharp right = 向右后方转弯
        turn.sharp right.name = 向右后方转弯，进入{name}
        turn.straight = 直行
        turn.straight.name = 直行进入{name}
        turn.uturn = 掉头
        turn.uturn.name = 掉头进入{name}
        turn.ferry = 乘坐渡轮
        turn.ferry.name = 乘坐{name:ferry}

        continue.left.name = 左转，继续沿{name}行驶
        continue.right.name = 右转，继续沿{name}行驶
        continue.slight left = 靠左行驶
        continue.slight left.name = 靠左，继续沿{name}行驶
        continue.slight right = 靠右行驶
        continue.slight right.name = 靠右，继续沿{name}行驶
        continue.sharp left.name = 向左后方转弯，继续沿{name}行驶
        continue.sharp right.name = 向右后方转弯，继续沿{name}行驶
        continue.straight = 继续直行
        continue.straight.name = 沿{name}继续直行
        continue.uturn = 掉头
        continue.uturn.name = 掉头，继续沿{name}行驶
        new name = 继续直行
        new name.name = 继续直行，进入{name}

        fork.slight left = 在岔路口靠左
        fork.slight left.name = 靠左进入{name}
        fork.slight left.stay = 靠左，继续沿{name}行驶
        fork.slight left.destination = 靠左，往{destination}方向
        fork.slight right = 在岔路口靠右
        fork.slight right.name = 靠右进入{name}
        fork.slight right.stay = 靠右，继续沿{name}行驶
        fork.slight right.destination = 靠右，往{destination}方向
        fork.straight = 在岔路口直行
        fork.straight.name = 直行进入{name}
        fork.straight.stay = 直行，继续沿{name}行驶
        fork.straight.destination = 直行，往{destination}方向
        end of road.left = 在道路尽头左转
        end of road.left.name = 在道路尽头左转进入{name}
        end of road.right = 在道路尽头右转
        end of road.right.name = 在道路尽头右转进入{name}

        on ramp = 驶入匝道
        on ramp.left = 从左侧驶入匝道
        on ramp.right = 从右侧驶入匝道
        on ramp.name = 从匝道进入{name}
        on ramp.left.name = 从左侧匝道进入{name}
        on ramp.destination = 驶入匝道，往{destination}方向
        on ramp.left.destination = 从左侧驶入匝道，往{destination}方向
        off ramp = 从出口驶出
        off ramp.left = 从左侧出口驶出
        off ramp.right = 从右侧出口驶出
        off ramp.name = 从出口驶出，进入{name}
        off ramp.left.name = 从左侧出口驶出，进入{name}
        off ramp.right.name = 从右侧出口驶出，进入{name}
        off ramp.named = 从{junction}出口驶出
        off ramp.left.named = 从左侧{junction}出口驶出
        off ramp.right.named = 从右侧{junction}出口驶出
        off ramp.exit = 从{exit}号出口驶出
        off ramp.left.exit = 从左侧{exit}号出口驶出
        off ramp.right.exit = 从右侧{exit}号出口驶出
        off ramp.exit.name = 从{exit}号出口驶出，进入{name}
        off ramp.left.exit.name = 从左侧{exit}号出口驶出，进入{name}
        off ramp.right.exit.name = 从右侧{exit}号出口驶出，进入{name}
        off ramp.exit.named = 从{exit}号出口（{junction}）驶出
        off ramp.left.exit.named = 从左侧{exit}号出口（{junction}）驶出
        off ramp.right.exit.named = 从右侧{exit}号出口（{junction}）驶出
        merge = 汇入车流
        merge.slight left = 向左汇入车流
        merge.slight right = 向右汇入车流
        merge.name = 汇入{name}
        merge.slight left.name = 向左汇入{name}
        merge.slight right.name = 向右汇入{name}

        roundabout = 进入环岛
        roundabout.name = 在环岛，从通往{name}的出口驶出
        roundabout.destination = 在环岛，从通往{destination}方向的出口驶出
        roundabout.nth = 在环岛，从{nth}出口驶出
        roundabout.nth.name = 在环岛，从{nth}出口驶出，进入{name}
        rotary = 进入{rotary}
        rotary.name = 在{rotary}，从通往{name}的出口驶出
        rotary.destination = 在{rotary}，从通往{destination}方向的出口驶出
        rotary.nth = 在{rotary}，从{nth}出口驶出
        rotary.nth.name = 在{rotary}，从{nth}出口驶出，进入{name}
        roundabout turn.left = 在环岛左转
        roundabout turn.left.name = 在环岛左转进入{name}
        roundabout turn.right = 在环岛右转
        roundabout turn.right.name = 在环岛右转进入{name}
        roundabout turn.slight left = 在环岛向左前方行驶
        roundabout turn.slight left.name = 在环岛向左前方行驶，进入{name}
        roundabout turn.slight right = 在环岛向右前方行驶
        roundabout turn.slight right.name = 在环岛向右前方行驶，进入{name}
        roundabout turn.sharp left = 在环岛向左后方转弯
        roundabout turn.sharp left.name = 在环岛向左后方转弯，进入{name}
        roundabout turn.sharp right = 在环岛向右后方转弯
        roundabout turn.sharp right.name = 在环岛向右后方转弯，进入{name}
        roundabout turn.straight = 在环岛直行
        roundabout turn.straight.name = 在环岛直行进入{name}
        roundabout turn.uturn = 在环岛掉头
        exit roundabout = 驶出环岛
        exit roundabout.name = 驶出环岛，进入{name}
        ordinal.other = 第{number}个

        notification = 继续行驶
        notification.leaves ferry = 驶离渡轮
        notification.leaves ferry.name = 驶离渡轮，继续沿{name}行驶
        notification.toll road = 进入收费公路
        notification.toll booth = 经过收费站
        notification.tunnel = 进入长{distance}的隧道
        notification.border = 越过国境

        arrive = 到达目的地
        arrive.left = 目的地在左侧
        arrive.right = 目的地在右侧
        arrive.waypoint = 到达{waypoint}
        arrive.left.waypoint = {waypoint}在左侧
        arrive.right.waypoint = {waypoint}在右侧
        arrive.stop = 到达下一个途经点
        arrive.left.stop = 下一个途经点在左侧
        arrive.right.stop = 下一个途经点在右侧
        arrived = 您已到达目的地
        arrived.left = 您已到达目的地，目的地在左侧
        arrived.right = 您已到达目的地，目的地在右侧
        arrived.waypoint = 您已到达{waypoint}
        arrived.left.waypoint = 您已到达{waypoint}，在左侧
        arrived.right.waypoint = 您已到达{waypoint}，在右侧
        arrived.stop = 您已到达途经点
        arrived.left.stop = 您已到达途经点，在左侧
        arrived.right.stop = 您已到达途经点，在右侧

        banner.exit = 出口
        banner.towards = 往{destination}方向
        """##,
    ]
}
