import { registerHooks } from 'node:module';

/**
 * Resolves imports of .js files to .ts files, because Node.js strips types but does not change import specifiers. This lets the key process, which is a
 * separate program, run from source in tests.
 */
registerHooks({
  resolve(specifier, context, next) {
    const source = /^\.{1,2}\//.test(specifier) && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts');
    return next(source ? `${specifier.slice(0, -3)}.ts` : specifier, context);
  },
});
