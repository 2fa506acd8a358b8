import NavNodes

TileCacheNode.runAndExit()
