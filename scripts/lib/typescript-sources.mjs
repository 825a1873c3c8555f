import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Module for --import that resolves imports of missing .js files to .ts files, because Node strips types but does not change import specifiers.
 */
registerHooks({
  resolve(specifier, context, next) {
    const relative = specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts');
    if (!relative || existsSync(fileURLToPath(new URL(specifier, context.parentURL)))) return next(specifier, context);
    return next(`${specifier.slice(0, -3)}.ts`, context);
  },
});
