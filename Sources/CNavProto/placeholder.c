// generated code lives here
