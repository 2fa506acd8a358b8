import NavNodes

DepotPolicy.runAndExit()
