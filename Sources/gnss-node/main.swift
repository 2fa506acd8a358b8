import NavNodes

GNSSNode.runAndExit()
