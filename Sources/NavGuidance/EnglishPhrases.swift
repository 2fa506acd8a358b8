extension PhraseTable {
    /// English.
    public static let english = PhraseTable(
        language: "en",
        phrases: [
            // Sentences around an instruction.
            "sentence.distance": "in {distance}, {instruction}",
            "sentence.then": "{instruction}, then {next}",
            "sentence.continue": "continue for {distance}",
            "sentence.continue.name": "continue on {name} for {distance}",

            // Distances: spoken, then displayed.
            "distance.metre.one": "{number} metre", "distance.metre.other": "{number} metres",
            "distance.kilometre.one": "{number} kilometre", "distance.kilometre.other": "{number} kilometres",
            "distance.foot.one": "{number} foot", "distance.foot.other": "{number} feet",
            "distance.yard.one": "{number} yard", "distance.yard.other": "{number} yards",
            "distance.mile.one": "{number} mile", "distance.mile.other": "{number} miles",
            "display.metre": "{number} m", "display.kilometre": "{number} km", "display.foot": "{number} ft",
            "display.yard": "{number} yd", "display.mile": "{number} mi",

            // Starting out.
            "depart": "head {direction}", "depart.name": "head {direction} on {name}",

            // Turns.
            "turn.left": "turn left", "turn.left.name": "turn left onto {name}",
            "turn.left.destination": "turn left towards {destination}",
            "turn.right": "turn right", "turn.right.name": "turn right onto {name}",
            "turn.right.destination": "turn right towards {destination}",
            "turn.slight left": "turn slightly left", "turn.slight left.name": "turn slightly left onto {name}",
            "turn.slight right": "turn slightly right", "turn.slight right.name": "turn slightly right onto {name}",
            "turn.sharp left": "make a sharp left", "turn.sharp left.name": "make a sharp left onto {name}",
            "turn.sharp right": "make a sharp right", "turn.sharp right.name": "make a sharp right onto {name}",
            "turn.straight": "go straight", "turn.straight.name": "go straight onto {name}",
            "turn.uturn": "make a U-turn", "turn.uturn.name": "make a U-turn onto {name}",
            "turn.ferry": "take the ferry", "turn.ferry.name": "take the {name} ferry",

            // Staying on a road.
            "continue.left.name": "turn left to stay on {name}", "continue.right.name": "turn right to stay on {name}",
            "continue.slight left": "bear left", "continue.slight left.name": "bear left to stay on {name}",
            "continue.slight right": "bear right", "continue.slight right.name": "bear right to stay on {name}",
            "continue.sharp left.name": "make a sharp left to stay on {name}",
            "continue.sharp right.name": "make a sharp right to stay on {name}",
            "continue.straight": "continue straight", "continue.straight.name": "continue straight on {name}",
            "continue.uturn": "make a U-turn", "continue.uturn.name": "make a U-turn and continue on {name}",
            "new name": "continue straight", "new name.name": "continue onto {name}",

            // Forks and ends of roads.
            "fork.slight left": "keep left at the fork", "fork.slight left.name": "keep left onto {name}",
            "fork.slight left.stay": "keep left to stay on {name}",
            "fork.slight left.destination": "keep left towards {destination}",
            "fork.slight right": "keep right at the fork", "fork.slight right.name": "keep right onto {name}",
            "fork.slight right.stay": "keep right to stay on {name}",
            "fork.slight right.destination": "keep right towards {destination}",
            "fork.straight": "go straight at the fork", "fork.straight.name": "go straight onto {name}",
            "fork.straight.stay": "go straight to stay on {name}",
            "fork.straight.destination": "go straight towards {destination}",
            "end of road.left": "turn left at the end of the road",
            "end of road.left.name": "at the end of the road, turn left onto {name}",
            "end of road.right": "turn right at the end of the road",
            "end of road.right.name": "at the end of the road, turn right onto {name}",

            // Ramps.
            "on ramp.slight left": "take the ramp on the left", "on ramp.left": "take the ramp on the left",
            "on ramp.sharp left": "take the ramp on the left", "on ramp": "take the ramp on the right",
            "on ramp.slight left.name": "take the ramp on the left onto {name}",
            "on ramp.left.name": "take the ramp on the left onto {name}",
            "on ramp.sharp left.name": "take the ramp on the left onto {name}",
            "on ramp.name": "take the ramp onto {name}", "on ramp.destination": "take the ramp towards {destination}",
            "on ramp.slight left.destination": "take the ramp on the left towards {destination}",
            "on ramp.left.destination": "take the ramp on the left towards {destination}",
            "off ramp.slight left": "take the exit on the left", "off ramp.left": "take the exit on the left",
            "off ramp": "take the exit", "off ramp.name": "take the exit onto {name}",
            "off ramp.slight left.name": "take the exit on the left onto {name}",
            "off ramp.left.name": "take the exit on the left onto {name}",
            "off ramp.destination": "take the exit towards {destination}",
            "off ramp.slight left.destination": "take the exit on the left towards {destination}",
            "off ramp.left.destination": "take the exit on the left towards {destination}",
            "off ramp.exit": "take exit {exit}", "off ramp.exit.name": "take exit {exit} onto {name}",
            "off ramp.exit.destination": "take exit {exit} towards {destination}",
            "off ramp.slight left.exit": "take exit {exit} on the left",
            "off ramp.slight left.exit.destination": "take exit {exit} on the left towards {destination}",
            "merge": "merge", "merge.slight left": "merge left", "merge.slight right": "merge right",
            "merge.name": "merge onto {name}", "merge.slight left.name": "merge left onto {name}",
            "merge.slight right.name": "merge right onto {name}",

            // Roundabouts.
            "roundabout": "enter the roundabout", "roundabout.name": "at the roundabout, take the exit onto {name}",
            "roundabout.nth": "at the roundabout, take the {nth} exit",
            "roundabout.nth.name": "at the roundabout, take the {nth} exit onto {name}",
            "roundabout.nth.destination": "at the roundabout, take the {nth} exit towards {destination}",
            "rotary": "enter {rotary}", "rotary.name": "at {rotary}, take the exit onto {name}",
            "rotary.nth": "at {rotary}, take the {nth} exit",
            "rotary.nth.name": "at {rotary}, take the {nth} exit onto {name}",
            "rotary.nth.destination": "at {rotary}, take the {nth} exit towards {destination}",
            "roundabout turn.left": "at the roundabout, turn left",
            "roundabout turn.left.name": "at the roundabout, turn left onto {name}",
            "roundabout turn.right": "at the roundabout, turn right",
            "roundabout turn.right.name": "at the roundabout, turn right onto {name}",
            "roundabout turn.straight": "at the roundabout, go straight",
            "roundabout turn.straight.name": "at the roundabout, go straight onto {name}",
            "roundabout turn.uturn": "make a U-turn at the roundabout",
            "exit roundabout": "exit the roundabout", "exit roundabout.name": "exit the roundabout onto {name}",
            "ordinal.other": "number {number}",

            // Notices.
            "notification.ferry": "take the ferry", "notification.ferry.name": "take the {name} ferry",
            "notification": "continue", "notification.leaves ferry": "leave the ferry",
            "notification.leaves ferry.name": "leave the ferry and continue on {name}",

            // Arriving: still ahead, then there.
            "arrive": "you will arrive at your destination",
            "arrive.left": "your destination will be on the left",
            "arrive.right": "your destination will be on the right",
            "arrive.waypoint": "you will arrive at {waypoint}",
            "arrive.left.waypoint": "{waypoint} will be on the left",
            "arrive.right.waypoint": "{waypoint} will be on the right",
            "arrive.stop": "you will arrive at your next stop",
            "arrive.left.stop": "your next stop will be on the left",
            "arrive.right.stop": "your next stop will be on the right",
            "arrived": "you have arrived at your destination",
            "arrived.left": "you have arrived at your destination, on the left",
            "arrived.right": "you have arrived at your destination, on the right",
            "arrived.waypoint": "you have arrived at {waypoint}",
            "arrived.left.waypoint": "you have arrived at {waypoint}, on the left",
            "arrived.right.waypoint": "you have arrived at {waypoint}, on the right",
            "arrived.stop": "you have arrived at your stop",
            "arrived.left.stop": "you have arrived at your stop, on the left",
            "arrived.right.stop": "you have arrived at your stop, on the right",

            // Banners.
            "banner.exit": "Exit", "banner.towards": "Towards {destination}",
        ],
        ordinals: [
            "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
        ],
        compass: ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"],
        decimalSeparator: ".", listSeparator: ", ", singular: .one, capitalisesSentences: true)
}
