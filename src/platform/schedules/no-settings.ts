import { Problem } from '../errors/problem.js';

/** For targets that know what to do. @throws Problem 422 `schedule.settings` */
export function assertNoSettings(settings: Record<string, unknown>): void {
  const [name] = Object.keys(settings);
  if (name === undefined) return;
  const errors = [{ pointer: `/settings/${name}`, detail: 'is not known: this target has no settings' }];
  throw new Problem('refused', 'schedule.settings', 'This target has no settings.', { errors });
}
