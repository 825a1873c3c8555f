import type { ClientCommand } from './api/command.js';
import { bom } from './commands/bom.command.js';
import { evidence } from './commands/evidence.command.js';
import { keys } from './commands/keys.command.js';
import { log } from './commands/log.command.js';
import { login } from './commands/login.command.js';
import { request } from './commands/request.command.js';
import { sensor } from './commands/sensor.command.js';
import { sign } from './commands/sign.command.js';
import { verify } from './commands/verify.command.js';

/** In the order of the help. */
export const COMMANDS: readonly ClientCommand[] = [login, sign, verify, keys, request, log, evidence, bom, sensor];
