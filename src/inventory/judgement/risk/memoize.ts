/** memoize caches the results of a function by the identity of the argument. A result is cached while the argument is reachable. */
export function memoize<From extends object, Made extends object>(make: (from: From) => Made): (from: From) => Made {
  const all = new WeakMap<From, Made>();
  return (from) => {
    const known = all.get(from);
    if (known !== undefined) return known;
    const made = make(from);
    all.set(from, made);
    return made;
  };
}
