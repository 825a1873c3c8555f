import { spawn } from 'node:child_process';
import { ROOT, toolEnvironment } from './project.mjs';

const children = new Set();

/** endChildren kills every program that is still running. */
export function endChildren() {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * run runs a program to completion and collects its output.
 * @returns {Promise<{ code: number, output: string }>} code 127 if the program cannot be started, 128 if a signal ended the program
 */
export function run(program, args, { env = toolEnvironment(), cwd = ROOT, input, show = false } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: show ? ['ignore', 'inherit', 'inherit'] : [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    children.add(child);
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ code: 127, output: error.message }));
    child.on('close', (code) => {
      children.delete(child);
      resolve({ code: code ?? 128, output });
    });
    if (input !== undefined) child.stdin.end(input);
  });
}
