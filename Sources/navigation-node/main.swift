import NavKit
import NavigationNode

NavigationNode.runAndExit()
