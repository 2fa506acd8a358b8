import NavNodes

TileCacheCommand.runAndExit()
