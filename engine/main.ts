#!/usr/bin/env node
// Placeholder until the command line lands in this file's final form.
if (process.argv.includes('--version')) process.stdout.write('0.1.0\n');
