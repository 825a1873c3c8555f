/** What is made of a value is made when it is first asked for, and is the very same from then on, as long as the value is there. */
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
