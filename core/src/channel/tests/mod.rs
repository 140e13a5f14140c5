mod bounds;
mod calls;
mod invariants;
mod lifetime;
mod loss;
mod registering;
mod script;
