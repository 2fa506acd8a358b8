import NavKit

DepotPolicy.runAndExit()
