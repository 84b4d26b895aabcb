/** Loaded before a program: its wall clock is off by so many milliseconds. Its monotonic time is not, as on any machine. */
const skew = Number(process.env.WALL_CLOCK_SKEW);
const now = () => skew + Reflect.apply(real.now, real, []);
const real = Date;

globalThis.Date = new Proxy(real, {
  construct: (target, values, newTarget) => Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  apply: () => new real(now()).toString(),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
