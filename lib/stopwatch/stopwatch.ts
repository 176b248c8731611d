export class Stopwatch {}
