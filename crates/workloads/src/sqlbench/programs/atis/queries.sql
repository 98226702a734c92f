-- city-and-state
select city_name, state_name, city.country_name from city, state
where city.state_code = state.state_code and city_code = 'MATL'
-- state-and-city
select city_name, state_name, city.country_name from state, city where city.state_code = state.state_code
-- month-and-day
select month_name, day_name from month_name, day_name where month_number = day_code
-- month-and-late-day
select month_name, day_name from month_name, day_name where month_number = day_code and day_code >= 4
-- flight-and-aircraft
select flight_code, aircraft_type from flight, aircraft where flight.aircraft_code = aircraft.aircraft_code
-- three-tables
select airline_name, aircraft_type from aircraft, airline, flight
where flight.aircraft_code = aircraft.aircraft_code and flight.airline_code = airline.airline_code
-- restricted-fares
select fare_code from restrict_carrier, airline, fare
where restrict_carrier.airline_code = airline.airline_code and fare.restrict_code = restrict_carrier.restrict_code
-- distinct-categories
select distinct category from aircraft
-- distinct-origins
select distinct from_airport from flight
-- distinct-aircraft
select distinct aircraft_code from flight
-- distinct-fares
select distinct * from fare
-- distinct-flights-with-fare
select distinct flight_code from flight_fare
-- distinct-flights-with-aircraft
select distinct flight_code, aircraft_type from flight, aircraft
where flight.aircraft_code = aircraft.aircraft_code
-- distinct-airlines-aircraft-first
select distinct airline_name, aircraft_type from aircraft, airline, flight
where flight.aircraft_code = aircraft.aircraft_code and flight.airline_code = airline.airline_code
-- distinct-airlines-flight-first
select distinct airline_name, aircraft_type from flight, aircraft, airline
where flight.aircraft_code = aircraft.aircraft_code and flight.airline_code = airline.airline_code
-- days-by-name-and-code
select day_name.day_name, flight_day.day_code, count(*) from flight_day, day_name
where day_name.day_code = flight_day.day_code
group by day_name.day_name, flight_day.day_code
order by flight_day.day_code
-- days-by-name
select day_name.day_name, count(*) from flight_day, day_name
where flight_day.day_code = day_name.day_code
group by day_name.day_name
-- months-and-late-days
select month_name.month_name, day_name.day_name from month_name, day_name
where month_number = day_code and day_code > 3
group by month_name.month_name, day_name.day_name
-- days-by-code-and-name
select day_name.day_name, flight_day.day_code, count(*) from flight_day, day_name
where flight_day.day_code = day_name.day_code
group by flight_day.day_code, day_name.day_name
order by flight_day.day_code
-- engines-sum
select sum(engines) from aircraft
-- engines-mean
select avg(engines) from aircraft
-- engines-mean-where-any
select avg(engines) from aircraft where engines > 0
-- pay-loads
select count(*), min(pay_load), max(pay_load) from aircraft where pay_load > 0
-- first-flight-twice
select min(flight_code), min(flight_code) from flight
-- first-airports
select min(from_airport), min(to_airport) from flight
-- heavy-loads
select count(*) from aircraft where pay_load > 10000
-- any-loads
select count(*) from aircraft where pay_load <> 0
-- late-flights
select count(*) from flight where flight_code >= 112793
-- engines-deviation mysql
select std(engines) from aircraft
-- engines-deviation postgres
select stddev_pop(engines) from aircraft
-- mean-time-of-a-route
select from_airport, to_airport, avg(time_elapsed) from flight
where from_airport = 'ATL' and to_airport = 'BOS'
group by from_airport, to_airport
-- mean-fare-by-city
select city_code, avg(ground_fare) from ground_service where ground_fare <> 0 group by city_code
-- services-by-city
select city_code, count(*) from ground_service group by city_code
-- categories-by-alias
select category, count(*) as machines from aircraft where engines = 2 group by category having machines > 4
-- categories-by-count
select category, count(*) as machines from aircraft where engines = 2 group by category having count(*) > 4
-- numbers-with-stops
select flight_number, range_miles, fare_class from aircraft, flight_class, flight
where flight.flight_code = flight_class.flight_code and flight.aircraft_code = aircraft.aircraft_code
  and range_miles <> 0 and (stops = 1 or stops = 2)
group by flight_number, range_miles, fare_class
-- zone-differences mysql
select distinct a.time_zone_code, b.time_zone_code,
  (floor(arrival_time / 100) * 60 + mod(arrival_time, 100)
    - floor(departure_time / 100) * 60 - mod(departure_time, 100) - time_elapsed) / 60 as zone_difference
from flight, airport a, airport b
where flight.from_airport = a.airport_code and flight.to_airport = b.airport_code
group by a.time_zone_code, b.time_zone_code, arrival_time, departure_time, time_elapsed
-- zone-differences postgres sqlite
select distinct a.time_zone_code, b.time_zone_code,
  ((arrival_time / 100) * 60 + arrival_time % 100
    - (departure_time / 100) * 60 - departure_time % 100 - time_elapsed) / 60 as zone_difference
from flight, airport a, airport b
where flight.from_airport = a.airport_code and flight.to_airport = b.airport_code
group by a.time_zone_code, b.time_zone_code, arrival_time, departure_time, time_elapsed
-- zone-differences-of-a-day mysql
select distinct a.time_zone_code, b.time_zone_code,
  mod((floor(arrival_time / 100) * 60 + mod(arrival_time, 100)
    - floor(departure_time / 100) * 60 - mod(departure_time, 100) - time_elapsed) / 60 + 36, 24) - 12
    as zone_difference
from flight, airport a, airport b
where flight.from_airport = a.airport_code and flight.to_airport = b.airport_code
  and mod((floor(arrival_time / 100) * 60 + mod(arrival_time, 100)
    - floor(departure_time / 100) * 60 - mod(departure_time, 100) - time_elapsed) / 60 + 36, 24) - 12 < 10
-- zone-differences-of-a-day postgres sqlite
select distinct a.time_zone_code, b.time_zone_code,
  (((arrival_time / 100) * 60 + arrival_time % 100
    - (departure_time / 100) * 60 - departure_time % 100 - time_elapsed) / 60 + 36) % 24 - 12
    as zone_difference
from flight, airport a, airport b
where flight.from_airport = a.airport_code and flight.to_airport = b.airport_code
  and (((arrival_time / 100) * 60 + arrival_time % 100
    - (departure_time / 100) * 60 - departure_time % 100 - time_elapsed) / 60 + 36) % 24 - 12 < 10
-- routes-with-range
select from_airport, to_airport, range_miles, time_elapsed from aircraft, flight
where aircraft.aircraft_code = flight.aircraft_code and to_airport not like from_airport
  and range_miles <> 0 and time_elapsed <> 0
group by from_airport, to_airport, range_miles, time_elapsed
-- served-cities
select airport.country_name, state.state_name, city.city_name, airport_service.direction
from airport_service, state, airport, city
where airport_service.city_code = city.city_code and airport_service.airport_code = airport.airport_code
  and state.state_code = airport.state_code and state.state_code = city.state_code
  and airport.state_code = city.state_code and airport.country_name = city.country_name
  and airport.country_name = state.country_name and city.time_zone_code = airport.time_zone_code
group by airport.country_name, state.state_name, city.city_name, airport_service.direction
order by state_name
-- served-cities-backwards
select airport.country_name, state.state_name, city.city_name, airport_service.direction
from airport_service, state, airport, city
where airport_service.city_code = city.city_code and airport_service.airport_code = airport.airport_code
  and state.state_code = airport.state_code and state.state_code = city.state_code
  and airport.state_code = city.state_code and airport.country_name = city.country_name
  and airport.country_name = state.country_name and city.time_zone_code = airport.time_zone_code
group by airport.country_name, state.state_name, city.city_name, airport_service.direction
order by state_name desc
-- fares-of-a-route
select from_airport, to_airport, fare.fare_class, night, one_way_cost, rnd_trip_cost, class_days
from compound_class, fare
where compound_class.fare_class = fare.fare_class and one_way_cost >= 280 and one_way_cost <= 825
  and from_airport = 'SFO' and to_airport = 'DFW'
group by from_airport, to_airport, fare.fare_class, night, one_way_cost, rnd_trip_cost, class_days
order by one_way_cost
-- jets-with-stops
select engines, category, cruising_speed, from_airport, to_airport from aircraft, flight
where category = 'JET' and engines >= 1 and aircraft.aircraft_code = flight.aircraft_code
  and to_airport not like from_airport and stops > 0
group by engines, category, cruising_speed, from_airport, to_airport
order by engines desc
