import GNSSNode
import NavKit

GNSSNode.runAndExit()
