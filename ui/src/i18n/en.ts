import { approvals } from './en/approvals.js';
import { discovery } from './en/discovery.js';
import { inventory } from './en/inventory.js';
import { operations } from './en/operations.js';
import { overview } from './en/overview.js';
import { people } from './en/people.js';
import { settings } from './en/settings.js';
import { shell } from './en/shell.js';
import { signing } from './en/signing.js';
import { singleSignOn } from './en/single-sign-on.js';
import { ssh } from './en/ssh.js';
import { sshCa } from './en/ssh-ca.js';
import { states } from './en/states.js';
import { words } from './en/words.js';

/** All user-visible text of the console. `{name}` is a placeholder. The variant with the suffix `.one` is used if `count` is 1. */
export const en = {
  ...words,
  ...shell,
  ...states,
  ...overview,
  ...signing,
  ...approvals,
  ...inventory,
  ...ssh,
  ...sshCa,
  ...discovery,
  ...operations,
  ...people,
  ...settings,
  ...singleSignOn,
};

export type MessageKey = keyof typeof en;
export type Catalogue = Readonly<Record<MessageKey, string>>;
