import NavNodes

NavigationNode.runAndExit()
