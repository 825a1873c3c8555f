#!/usr/bin/env node
import { run } from './client/commands/run.js';

process.exitCode = await run(process.argv.slice(2));
