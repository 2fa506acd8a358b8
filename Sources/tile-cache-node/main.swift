import NavKit
import TileCacheNode

TileCacheCommand.runAndExit()
